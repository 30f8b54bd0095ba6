package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/postgres"
)

// Summary returns how the table stands, by source. A source without rows that are open or dead is not in it.
// Each part is read from an index of its own: rows that are done do not slow it down, however many are kept.
func (t Table) Summary(ctx context.Context, r postgres.Reader) (map[string]Stats, error) {
	part := func(depth, age, inFlight, dead, unclaimable, where string) string {
		return fmt.Sprintf(`SELECT %s AS source, %s AS depth, %s AS age, %s AS in_flight, %s AS dead, %s AS unclaimable
			FROM %s t %s WHERE %s GROUP BY 1`, t.Source, depth, age, inFlight, dead, unclaimable, t.Name, t.From, where)
	}
	const wait = `coalesce(extract(epoch FROM now() - min(t.next_attempt_on) FILTER (WHERE t.next_attempt_on <= now())), 0)::float8`
	rows, err := r.Query(ctx, `
		SELECT source, sum(depth)::bigint, max(age), sum(in_flight)::bigint, sum(dead)::bigint, sum(unclaimable)::bigint FROM (`+
		part(`count(*)`, wait, `0`, `0`, `count(t.unclaimable_since)`, freeRow)+` UNION ALL `+
		part(`count(*)`, `0`, `count(*)`, `0`, `0`, `t.claimed_until IS NOT NULL`)+` UNION ALL `+
		part(`0`, `0`, `0`, `count(*)`, `0`, `t.dead_lettered_on IS NOT NULL`)+`) AS parts GROUP BY source`)
	if err != nil {
		return nil, fmt.Errorf("summarize %s: %w", t.Name, err)
	}
	bySource := map[string]Stats{}
	var source string
	var s Stats
	_, err = pgx.ForEachRow(rows, []any{&source, &s.Depth, &s.OldestDueAge, &s.InFlight, &s.DeadLetters, &s.Unclaimable}, func() error {
		bySource[source] = s
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("summarize %s: %w", t.Name, err)
	}
	return bySource, nil
}

// Presence is a replica as a database knows it.
type Presence struct {
	Replica
	StartedOn   time.Time
	HeartbeatOn time.Time
	Silence     time.Duration // since the heartbeat, by the database's clock
}

// Replicas lists those that work in the database, or have until lately without signing off; the longest at work
// comes first.
func Replicas(ctx context.Context, r postgres.Reader) ([]Presence, error) {
	rows, err := r.Query(ctx, `
		SELECT id, host, version, started_on, heartbeat_on, now() - heartbeat_on FROM platform.replicas ORDER BY started_on, id`)
	if err != nil {
		return nil, fmt.Errorf("list replicas: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Presence, err error) {
		err = row.Scan(&p.ID, &p.Host, &p.Version, &p.StartedOn, &p.HeartbeatOn, &p.Silence)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("list replicas: %w", err)
	}
	return all, nil
}
