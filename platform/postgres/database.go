package postgres

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
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/plenary/platform/fault"
)

// Config describes one physical database. Only URL is needed.
type Config struct {
	URL  string
	Name string // a short label for logs and metrics; default "default"
	// MaxConns bounds the connections for the modules' work; 0 means 16.
	MaxConns int
	// ControlConns bounds the connections kept apart for claims, lease renewals and heartbeats, which must
	// get through while the modules' work waits for its turn; 0 means 3.
	ControlConns int
	// AcquireTimeout bounds the wait for a free connection; 0 means 5 s.
	AcquireTimeout time.Duration
	// StatementTimeout bounds one statement, LockTimeout one wait for a lock; 0 means 30 s and 10 s.
	StatementTimeout time.Duration
	LockTimeout      time.Duration
	// Lease is the lease of background work. A session that sits idle inside a transaction, or whose peer has
	// vanished, is ended by then, so that a frozen process gives its row locks free in time. 0 means 30 s.
	Lease       time.Duration
	Application string // application_name; default "plenary"
	Logger      *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, "default")
	c.MaxConns = cmp.Or(c.MaxConns, 16)
	c.ControlConns = cmp.Or(c.ControlConns, 3)
	c.AcquireTimeout = cmp.Or(c.AcquireTimeout, 5*time.Second)
	c.StatementTimeout = cmp.Or(c.StatementTimeout, 30*time.Second)
	c.LockTimeout = cmp.Or(c.LockTimeout, 10*time.Second)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.Application = cmp.Or(c.Application, "plenary")
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Database is one physical database with its pools. It is safe for concurrent use.
type Database struct {
	config  Config
	work    *pgxpool.Pool
	control *pgxpool.Pool
}

// Open prepares the pools; it does not wait for the server, so that a program can start before its database.
// It fails only for a URL that cannot be understood, and never repeats that URL.
func Open(ctx context.Context, config Config) (*Database, error) {
	config = config.withDefaults()
	db := &Database{config: config}
	var err error
	if db.work, err = newPool(ctx, config, config.MaxConns); err != nil {
		return nil, err
	}
	if db.control, err = newPool(ctx, config, config.ControlConns); err != nil {
		db.work.Close()
		return nil, err
	}
	return db, nil
}

func newPool(ctx context.Context, config Config, maxConns int) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, fault.New(fault.Invalid, "database_url",
			"the database URL of "+config.Name+" cannot be understood; it looks like postgres://user:password@host:5432/name")
	}
	pc.MaxConns = int32(maxConns)
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.MaxConnLifetime = time.Hour
	pc.MaxConnLifetimeJitter = 10 * time.Minute
	pc.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerUUID(conn.TypeMap())
		return nil
	}
	configureConn(pc.ConnConfig, config)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("prepare the pool of %s: %w", config.Name, err)
	}
	return pool, nil
}

// configureConn sets what every session needs, whichever pool or listener it belongs to.
func configureConn(cc *pgx.ConnConfig, config Config) {
	cc.ConnectTimeout = 5 * time.Second
	params := cc.RuntimeParams
	params["application_name"] = config.Application
	params["timezone"] = "UTC"
	params["statement_timeout"] = milliseconds(config.StatementTimeout)
	params["lock_timeout"] = milliseconds(config.LockTimeout)
	params["idle_in_transaction_session_timeout"] = milliseconds(config.Lease)
	// The server's side of TCP notices a vanished peer within the lease; on a local socket these are ignored.
	seconds := max(1, int(config.Lease/time.Second)/4)
	params["tcp_keepalives_idle"] = strconv.Itoa(seconds)
	params["tcp_keepalives_interval"] = strconv.Itoa(seconds)
	params["tcp_keepalives_count"] = "2"
	params["tcp_user_timeout"] = milliseconds(config.Lease)
	// And ours notices a vanished server.
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: config.Lease / 4, Interval: config.Lease / 4, Count: 2,
	}}
	cc.DialFunc = dialer.DialContext
	// A cancelled context cancels the statement on the server and keeps the connection, instead of dropping
	// the connection and leaving the statement to run.
	cc.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 2 * time.Second}
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Name returns the label given in Config.
func (db *Database) Name() string { return db.config.Name }

// URL returns the address given in Config, password included.
func (db *Database) URL() string { return db.config.URL }

// Source returns a module's place in the database.
func (db *Database) Source(name string) *Source {
	return &Source{name: name, db: db, pool: db.work}
}

// Control returns the platform's own place in the database, with connections of its own: for claims,
// renewals and heartbeats, which business load must not starve.
func (db *Database) Control() *Source {
	return &Source{name: "platform", db: db, pool: db.control}
}

// Listen opens a connection of its own for LISTEN; the caller closes it.
func (db *Database) Listen(ctx context.Context) (*pgx.Conn, error) {
	cc := db.control.Config().ConnConfig
	cc.RuntimeParams["application_name"] = db.config.Application + " listen"
	// Waiting with a time limit is the normal state here; a cancel request would be sent for nothing.
	cc.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}
	}
	return pgx.ConnectConfig(ctx, cc)
}

// Ping reports whether the database answers.
func (db *Database) Ping(ctx context.Context) error {
	return Fault(db.control.Ping(ctx))
}

// Stat is a view of the pool for the modules' work.
type Stat struct{ Acquired, Idle, Total, Max int }

// Stat returns the pool's present numbers.
func (db *Database) Stat() Stat {
	s := db.work.Stat()
	return Stat{Acquired: int(s.AcquiredConns()), Idle: int(s.IdleConns()), Total: int(s.TotalConns()), Max: int(s.MaxConns())}
}

// Close ends every pooled connection. It waits for those in use.
func (db *Database) Close() {
	db.work.Close()
	db.control.Close()
}

// acquire takes a connection, or says within AcquireTimeout that there is none: Unavailable, "database_busy".
func (db *Database) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	if transactionOpen(ctx) {
		return nil, fault.New(fault.Internal, "nested_transaction",
			"a connection was asked for with the context of an open transaction; pass tx along instead")
	}
	wait, cancel := context.WithTimeout(ctx, db.config.AcquireTimeout)
	defer cancel()
	conn, err := pool.Acquire(wait)
	if err == nil {
		return conn, nil
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		busy := fault.Wrap(err, fault.Unavailable, "database_busy", "no database connection is to be had in time")
		busy.RetryAfter = time.Second
		return nil, busy
	}
	return nil, Fault(err)
}
