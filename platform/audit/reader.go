package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/postgres"
)

// Entry is one change as the trail has it.
type Entry struct {
	ID            uuid.UUID
	Source        string // the module whose transaction it was
	EntityType    string
	EntityKey     string
	Operation     Operation
	Changes       []Change
	ChangedBy     *string // an identity.Principal's ID; nil: nobody
	ChangedOn     time.Time
	CorrelationID *string
	Tenant        *string
}

// Filter narrows down a list. Zero fields narrow nothing.
type Filter struct {
	EntityType    string
	EntityKey     string
	Actor         string // ChangedBy
	CorrelationID string
	From, To      time.Time // of ChangedOn; To is the first instant that is too late
}

// where names only what the filter asks for: each question then is planned for itself, on the index made for it.
func (f Filter) where(before uuid.UUID) (string, pgx.NamedArgs) {
	args := pgx.NamedArgs{"before": before}
	conditions := []string{"id < @before"}
	narrow := func(asked bool, condition, name string, value any) {
		if asked {
			conditions = append(conditions, condition)
			args[name] = value
		}
	}
	narrow(f.EntityType != "", "entity_type = @type", "type", f.EntityType)
	narrow(f.EntityKey != "", "entity_key = @key", "key", f.EntityKey)
	narrow(f.Actor != "", "changed_by = @actor", "actor", f.Actor)
	narrow(f.CorrelationID != "", "correlation_id = @correlation", "correlation", f.CorrelationID)
	narrow(!f.From.IsZero(), "changed_on >= @from", "from", f.From)
	narrow(!f.To.IsZero(), "changed_on < @to", "to", f.To)
	return strings.Join(conditions, " AND "), args
}

const selectEntries = `
	SELECT id, source, entity_type, entity_key, operation, changes, changed_by, changed_on, correlation_id, tenant
	FROM platform.audit_entries WHERE `

// List returns at most limit entries of one database by descending id, which is newest first, from before on; the
// zero id begins at the top. An id is unique, and made when its entry is: entries of one transaction, which share
// an instant, keep their order, and entries written between two pages shift nothing. Invalid ("invalid_text") if
// the filter has a character that no text can have.
func List(ctx context.Context, r postgres.Reader, f Filter, before uuid.UUID, limit int) ([]Entry, error) {
	if before == uuid.Nil {
		before = uuid.Max
	}
	where, args := f.where(before)
	args["limit"] = limit
	return read(ctx, r, where+` ORDER BY id DESC LIMIT @limit`, args)
}

// Get returns one entry, or false.
func Get(ctx context.Context, r postgres.Reader, id uuid.UUID) (Entry, bool, error) {
	entries, err := read(ctx, r, `id = @id`, pgx.NamedArgs{"id": id})
	if err != nil || len(entries) == 0 {
		return Entry{}, false, err
	}
	return entries[0], true, nil
}

func read(ctx context.Context, r postgres.Reader, where string, args pgx.NamedArgs) ([]Entry, error) {
	rows, err := r.Query(ctx, selectEntries+where, args)
	var entries []Entry
	if err == nil {
		entries, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Entry])
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("read audit entries: %w", postgres.Fault(err))
	}
	return entries, err
}
