package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/devpg"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
)

// clockTolerance is the difference between two clocks at which a timestamp begins to mislead its reader. Nothing
// breaks beyond it: the database's clock alone decides.
const clockTolerance = 2 * time.Second

// checkDatabases looks at every database that the settings name.
func (d *doctor) checkDatabases(ctx context.Context) {
	if d.config.DatabaseURL == "" {
		d.say(fine, "database", "DATABASE_URL is not set: app dev starts a private one; app serve needs it")
		return
	}
	config := d.config
	config.MaxConns = max(config.MaxConns, 1) // it may be what is wrong
	all, err := openDatabases(ctx, config, slog.New(slog.DiscardHandler))
	if err != nil {
		if e := fault.As(err); e != nil {
			d.say(failed, "database", "%s", e.Message)
		} else {
			d.say(failed, "database", "the settings of the databases are not understood")
		}
		return
	}
	defer all.close()
	named := map[string]string{}
	for _, p := range all.all {
		id := d.checkDatabase(ctx, p)
		if other, twice := named[id]; id != "" && twice {
			d.say(failed, "database", "the URLs of %s and %s name the same database in two ways: leave one of them out", other, p.db.Name())
		}
		named[id] = p.db.Name()
	}
}

// checkDatabase looks at one database as the program's role, and as the one that migrates if something is to be
// migrated. It returns the identity that the database has given itself, if it has one yet.
func (d *doctor) checkDatabase(ctx context.Context, p *physical) (id string) {
	ctx, cancel := context.WithTimeout(ctx, 2*checkLimit)
	defer cancel()
	what := "database"
	if p.db.Name() != "default" {
		what += " " + p.db.Name()
	}
	conn, where, err := connect(ctx, p.db.URL())
	if err != nil {
		d.say(failed, what, "%s: %s", where, refusal(err))
		return ""
	}
	defer conn.Close(context.WithoutCancel(ctx))
	d.checkServer(ctx, what, where, conn)
	d.checkClock(ctx, what, conn)
	d.checkMigrations(ctx, what, conn, p)
	_ = conn.QueryRow(ctx, `SELECT id::text FROM platform.database`).Scan(&id) // not there before the first migration
	return id
}

// connect opens a connection, and names the place without the password.
func connect(ctx context.Context, address string) (conn *pgx.Conn, where string, err error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, "the URL", errors.New("it is not understood; it looks like postgres://user:password@host:5432/name")
	}
	config.ConnectTimeout = checkLimit
	where = fmt.Sprintf("%s on %s as %s", config.Database, net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), config.User)
	conn, err = pgx.ConnectConfig(ctx, config)
	return conn, where, err
}

// refusal says why there is no connection, and what to do.
func refusal(err error) string {
	switch code := postgres.Code(err); code {
	case "28P01", "28000":
		return "the server does not let this user in: check user and password, and the server's pg_hba.conf"
	case "3D000":
		return "there is no such database: create it (scripts/database-roles.sql shows how)"
	case "42501":
		return "this user may not connect to the database: GRANT CONNECT ON DATABASE … TO …"
	case "53300":
		return "the server has no connection left: raise its max_connections, or lower DATABASE_MAX_CONNS"
	case "57P03":
		return "the server is starting or stopping: wait, and ask again"
	case "":
	default:
		return "the server refuses, code " + code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + checkLimit.String() + ": check host and port, and the firewall"
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "no connection (" + reason(err) + "): check host, port and sslmode, and that the server runs"
	}
	return reason(err)
}

// checkServer looks at the version, the role and the number of connections.
func (d *doctor) checkServer(ctx context.Context, what, where string, conn *pgx.Conn) {
	var version, connections int
	var super bool
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('max_connections')::int,
		(SELECT rolsuper FROM pg_roles WHERE rolname = current_user)`).Scan(&version, &connections, &super)
	if err != nil {
		d.say(failed, what, "%s: the server answers, but not to questions (%s)", where, reason(err))
		return
	}
	if major := version / 10000; major < devpg.OldestMajor || major > devpg.NewestMajor {
		d.say(failed, what, "%s is PostgreSQL %d: use %d to %d", where, major, devpg.OldestMajor, devpg.NewestMajor)
	} else {
		d.say(fine, what, "%s, PostgreSQL %d", where, major)
	}
	if super {
		d.say(doubtful, what, "%s is a superuser: give the program a role that owns nothing (docs/operations.md)", conn.Config().User)
	}
	if needed := d.config.MaxConns + connectionsApart; needed > connections {
		d.say(doubtful, what, "a process opens up to %d connections, and the server has %d: raise max_connections, or lower DATABASE_MAX_CONNS", needed, connections)
	}
}

// connectionsApart are those of a process beside DATABASE_MAX_CONNS: claims, the listener, the sandbox gateway.
const connectionsApart = 9

// checkClock compares the database's clock with this machine's.
func (d *doctor) checkClock(ctx context.Context, what string, conn *pgx.Conn) {
	var theirs time.Time
	asked := time.Now()
	if err := conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&theirs); err != nil {
		d.say(failed, what, "the server does not say what time it is (%s)", reason(err))
		return
	}
	waited := time.Since(asked)
	d.sayClock(what, theirs.Sub(asked.Add(waited/2)))
}

func (d *doctor) sayClock(what string, ahead time.Duration) {
	switch {
	case ahead > clockTolerance:
		d.say(doubtful, what, "its clock is %v ahead of this machine's: let both be set by NTP", ahead.Round(time.Second))
	case ahead < -clockTolerance:
		d.say(doubtful, what, "its clock is %v behind this machine's: let both be set by NTP", -ahead.Round(time.Second))
	default:
		d.say(fine, what, "its clock and this machine's agree")
	}
}

// checkMigrations compares the schema with this program's, and makes sure that somebody can bring it up to date.
func (d *doctor) checkMigrations(ctx context.Context, what string, conn *pgx.Conn, p *physical) {
	states, err := postgres.MigrationStates(ctx, conn, p.sets...)
	if postgres.Code(err) == "42501" {
		d.say(failed, what, "%s may not read the schema: run app migrate up as the owner, which grants it", conn.Config().User)
		return
	}
	if err != nil {
		d.say(failed, what, "the migrations cannot be read (%s)", reason(err))
		return
	}
	var pending, newer int
	for _, s := range states {
		switch {
		case s.Refuses:
			d.say(failed, what, "%s/%04d_%s was applied by a newer version that this one cannot work with: use that version", s.Source, s.Version, s.Name)
		case !s.Known:
			newer++
		case s.AppliedOn == nil:
			pending++
		}
	}
	if newer > 0 {
		d.say(doubtful, what, "%d migrations are newer than this program, which can work with them", newer)
	}
	if pending == 0 {
		d.say(fine, what, "all %d migrations of this program are applied", len(states)-newer)
		return
	}
	d.checkOwner(ctx, what, p, pending)
}

// checkOwner makes sure that the role that migrates can.
func (d *doctor) checkOwner(ctx context.Context, what string, p *physical, pending int) {
	conn, where, err := connect(ctx, cmp.Or(p.ownerURL, p.db.URL()))
	if err != nil {
		d.say(failed, what, "%d migrations are pending, and the role that migrates does not get in: %s: %s", pending, where, refusal(err))
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	sources := make([]string, len(p.sets))
	for i, set := range p.sets {
		sources[i] = set.Source
	}
	var may bool
	err = conn.QueryRow(ctx, `SELECT has_database_privilege(current_database(), 'CREATE')
		AND NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ANY($1) AND NOT pg_has_role(nspowner, 'USAGE'))`, sources).Scan(&may)
	switch {
	case err != nil:
		d.say(failed, what, "%d migrations are pending, and what %s may do cannot be found out (%s)", pending, where, reason(err))
	case !may:
		d.say(failed, what, "%d migrations are pending, and %s may not make them: set MIGRATION_DATABASE_URL to the owner's", pending, conn.Config().User)
	default:
		d.say(doubtful, what, "%d migrations are pending: app serve applies them when it starts, app migrate up at once", pending)
	}
}
