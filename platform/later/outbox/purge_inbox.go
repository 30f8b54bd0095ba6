package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/postgres"
)

// handled is one row of an inbox.
type handled struct {
	event   uuid.UUID
	handler string
	on      time.Time
}

// PurgeInbox forgets, in place, what was handled at least age ago, and returns how many rows have gone. A row
// whose delivery is still there in one of the publishers' databases stays: a dead letter may be given another
// life at any time, and must then find that its work was done.
func PurgeInbox(ctx context.Context, place *postgres.Source, publishers []*postgres.Source, age time.Duration) (total int, err error) {
	last := handled{on: time.Unix(0, 0)}
	for found := lease.PurgeBatch; found == lease.PurgeBatch; {
		old, err := readInbox(ctx, place, last, age)
		if err != nil {
			return total, err
		}
		if found = len(old); found == 0 {
			break
		}
		last = old[found-1]
		events, handlers := columns(old)
		for _, publisher := range publishers {
			if events, handlers, err = undelivered(ctx, publisher, events, handlers); err != nil {
				return total, err
			}
		}
		err = place.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
			tag, err := tx.Exec(ctx, `
				DELETE FROM platform.inbox i USING unnest($1::uuid[], $2::text[]) AS o(event_id, handler)
				WHERE i.event_id = o.event_id AND i.handler = o.handler`, events, handlers)
			total += int(tag.RowsAffected())
			return err
		})
		if err != nil {
			return total, fmt.Errorf("purge the inbox: %w", err)
		}
	}
	return total, nil
}

func readInbox(ctx context.Context, place *postgres.Source, after handled, age time.Duration) ([]handled, error) {
	rows, err := place.Query(ctx, `
		SELECT event_id, handler, processed_on FROM platform.inbox
		WHERE processed_on <= now() - $1::interval AND (processed_on, event_id, handler) > ($2, $3, $4)
		ORDER BY processed_on, event_id, handler LIMIT $5`, age, after.on, after.event, after.handler, lease.PurgeBatch)
	if err != nil {
		return nil, fmt.Errorf("read the inbox: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h handled, err error) {
		err = row.Scan(&h.event, &h.handler, &h.on)
		return h, err
	})
}

func columns(rows []handled) (events []uuid.UUID, handlers []string) {
	for _, h := range rows {
		events, handlers = append(events, h.event), append(handlers, h.handler)
	}
	return events, handlers
}

// undelivered returns those for which there is no delivery in publisher's database.
func undelivered(ctx context.Context, publisher *postgres.Source, events []uuid.UUID, handlers []string) ([]uuid.UUID, []string, error) {
	rows, err := publisher.Query(ctx, `
		SELECT o.event_id, o.handler FROM unnest($1::uuid[], $2::text[]) AS o(event_id, handler)
		WHERE NOT EXISTS (SELECT FROM platform.deliveries d WHERE d.event_id = o.event_id AND d.name = o.handler)`, events, handlers)
	if err != nil {
		return nil, nil, fmt.Errorf("look for deliveries: %w", err)
	}
	var left []handled
	var h handled
	if _, err = pgx.ForEachRow(rows, []any{&h.event, &h.handler}, func() error { left = append(left, h); return nil }); err != nil {
		return nil, nil, fmt.Errorf("look for deliveries: %w", err)
	}
	events, handlers = columns(left)
	return events, handlers, nil
}
