package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/identity"
)

// Work is a claimed row.
type Work struct {
	ID          uuid.UUID
	Claim       int64
	ClaimedOn   time.Time
	Name        string // of the command or of the event's handler
	Version     int    // of the payload
	Payload     []byte
	Origin      identity.Origin
	Subject     uuid.UUID // what the row is about: the event of a delivery, the row itself for a command
	DueOn       time.Time // when it could have started
	Attempts    int       // outcomes before this claim
	MaxAttempts int
	Crashes     int
	PutOffs     int
}

// Mechanism is one table of work and how its rows are run. Name, Table, Detail and From are constants of the
// code, put into SQL as they are.
type Mechanism struct {
	Name  string // "command", "delivery": for labels, and for the names that replicas publish
	Table string // "platform.internal_commands"
	// Detail lists, for the table as t: payload, user_id, roles, tenant, correlation_id, trace_parent, subject.
	Detail string
	// From and Where join what Detail needs ("platform.events e", "e.id = t.event_id"); both may be empty.
	From, Where string
	// Workers bounds how many rows run at once in this process; default 16.
	Workers int
	// Names are the names that this process runs, with the highest payload version it understands.
	Names map[string]int
	// Retry tells how failures of a name are tried again.
	Retry func(name string) Retry
	// Run runs one row. stamped says that the row was marked as done in the run's own transaction. It is
	// called from as many goroutines as there are workers; a panic counts as a failure.
	Run func(ctx context.Context, w Work) (stamped bool, err error)
	// Renew says whether a row's lease is renewed while it runs: always, but for transactional runs.
	Renew func(name string) bool

	names    []string
	versions []int32
	sql      statements
}

// statements are a mechanism's SQL with its table filled in.
type statements struct {
	reap, claim, suspect, due, renew, succeed, fail, putOff, release string
	observe, bury, stats                                             string
}

// suspectAfter is the number of suspected crashes after which a row runs alone; one more, and it is buried.
const suspectAfter = 3

const (
	openRow  = `t.processed_on IS NULL AND t.dead_lettered_on IS NULL`
	freeRow  = openRow + ` AND t.claimed_until IS NULL`
	knownRow = `t.name = ANY(@names) AND t.payload_version <= (@versions::int[])[array_position(@names, t.name)]`
	liveName = `EXISTS (SELECT FROM platform.replica_names n JOIN platform.replicas r ON r.id = n.replica_id
		WHERE n.mechanism = @mechanism AND n.name = t.name AND n.version >= t.payload_version
		AND r.heartbeat_on > now() - @ttl::interval)`
)

func (m *Mechanism) prepare() error {
	if m.Name == "" || m.Table == "" || m.Run == nil {
		return errors.New("lease: a mechanism needs a name, a table and a Run")
	}
	if m.Workers <= 0 {
		m.Workers = 16
	}
	if m.Retry == nil {
		m.Retry = func(string) Retry { return Retry{} }
	}
	if m.Renew == nil {
		m.Renew = func(string) bool { return true }
	}
	for name := range m.Names {
		m.names = append(m.names, name)
	}
	slices.Sort(m.names)
	for _, name := range m.names {
		m.versions = append(m.versions, int32(m.Names[name]))
	}
	from, where := "", ""
	if m.From != "" {
		from, where = ", "+m.From, " AND "+m.Where
	}
	claim := func(which string) string {
		return fmt.Sprintf(`
			WITH next AS (
				SELECT t.id FROM %[1]s t
				WHERE %[2]s AND t.next_attempt_on <= now() AND %[3]s AND %[4]s
				ORDER BY t.next_attempt_on, t.id LIMIT @limit
				FOR UPDATE SKIP LOCKED)
			UPDATE %[1]s t
			SET claim = t.claim + 1, claimed_by = @replica, claimed_on = now(), claimed_until = now() + @lease::interval,
				unclaimable_since = NULL
			FROM next%[5]s WHERE t.id = next.id%[6]s
			RETURNING t.id, t.claim, t.claimed_on, t.name, t.payload_version, t.next_attempt_on, t.attempts, t.max_attempts,
				t.crashes, t.put_offs, %[7]s`,
			m.Table, freeRow, knownRow, which, from, where, m.Detail)
	}
	m.sql.claim = claim(fmt.Sprintf("t.crashes < %d", suspectAfter))
	m.sql.suspect = claim(fmt.Sprintf("t.crashes >= %d", suspectAfter))
	fill := func(sql string) string { return strings.ReplaceAll(sql, "{table}", m.Table) }
	// A lease that ran out is a suspected crash. A locked row is not looked at: a transactional run is still
	// at work on it, or somebody else is ending its lease.
	m.sql.reap = fill(fmt.Sprintf(`
		WITH expired AS (
			SELECT t.id FROM {table} t WHERE t.claimed_until <= now() ORDER BY t.claimed_until LIMIT 100
			FOR UPDATE SKIP LOCKED),
		ended AS (
			UPDATE {table} t
			SET claimed_until = NULL, crashes = t.crashes + 1, put_off = false,
				last_error = 'the lease ended without an outcome',
				dead_lettered_on = CASE WHEN t.crashes >= %[1]d THEN now() END,
				dead_letter_reason = CASE WHEN t.crashes >= %[1]d THEN 'crash_loop' END
			FROM expired WHERE t.id = expired.id
			RETURNING t.id, t.name, t.claim, t.claimed_on, t.claimed_by, t.crashes, t.dead_lettered_on),
		noted AS (
			INSERT INTO platform.attempts (work_id, claim, started_on, finished_on, outcome, error, replica)
			SELECT id, claim, claimed_on, now(), 'crashed', 'the lease ended without an outcome', claimed_by FROM ended
			ON CONFLICT DO NOTHING)
		SELECT id, name, crashes, dead_lettered_on IS NOT NULL FROM ended`, suspectAfter))
	m.sql.due = fill(`
		SELECT
			least(
				(SELECT t.next_attempt_on FROM {table} t WHERE ` + freeRow + ` AND ` + knownRow + `
					ORDER BY t.next_attempt_on LIMIT 1),
				(SELECT min(t.claimed_until) FROM {table} t WHERE t.claimed_until IS NOT NULL)) - now(),
			EXISTS (SELECT FROM {table} t WHERE ` + freeRow + fmt.Sprintf(` AND t.crashes >= %d`, suspectAfter) + `
				AND t.next_attempt_on <= now() AND ` + knownRow + `)`)
	m.sql.renew = fill(`
		WITH held AS (
			SELECT t.id FROM {table} t JOIN unnest(@ids::uuid[], @claims::bigint[]) AS h(id, claim) USING (id, claim)
			WHERE t.claimed_until IS NOT NULL FOR NO KEY UPDATE OF t SKIP LOCKED),
		renewed AS (
			UPDATE {table} t SET claimed_until = now() + @lease::interval FROM held WHERE t.id = held.id RETURNING t.id)
		SELECT t.id FROM {table} t JOIN unnest(@ids::uuid[], @claims::bigint[]) AS h(id, claim) USING (id, claim)
		WHERE t.claimed_until IS NOT NULL`)
	m.prepareOutcomes(fill)
	m.prepareSweeps(fill)
	return nil
}

// arguments are those that several statements share.
func (m *Mechanism) arguments() pgx.NamedArgs {
	return pgx.NamedArgs{"names": m.names, "versions": m.versions, "mechanism": m.Name}
}

func scanWork(row pgx.CollectableRow) (Work, error) {
	var w Work
	var userID, tenant, correlation, trace *string
	err := row.Scan(&w.ID, &w.Claim, &w.ClaimedOn, &w.Name, &w.Version, &w.DueOn, &w.Attempts, &w.MaxAttempts, &w.Crashes,
		&w.PutOffs, &w.Payload, &userID, &w.Origin.Roles, &tenant, &correlation, &trace, &w.Subject)
	for field, value := range map[*string]*string{
		&w.Origin.UserID: userID, &w.Origin.Tenant: tenant,
		&w.Origin.CorrelationID: correlation, &w.Origin.TraceParent: trace,
	} {
		if value != nil {
			*field = *value
		}
	}
	return w, err
}
