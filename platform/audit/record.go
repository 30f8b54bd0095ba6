package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/strictjson"
)

// Operation is what happened to an entity.
type Operation string

// The operations, as they are stored and shown.
const (
	OperationAdded     Operation = "added"
	OperationModified  Operation = "modified"
	OperationDeleted   Operation = "deleted"
	OperationPerformed Operation = "performed"
)

// Change is one property of an entry. Old is null for what was added or performed, New for what was deleted.
type Change struct {
	Property string          `json:"property"`
	Old      json.RawMessage `json:"old"`
	New      json.RawMessage `json:"new"`
}

const (
	maxType = 256 // characters; the table's bounds
	maxKey  = 128
)

// Added records in tx that an entity came to be, with all its properties. entityType is a chosen, stable name
// such as "sales.order"; entityKey says which one, parts of a composite key joined by a bar; after is a struct or
// a pointer to one. The entry commits or rolls back with tx.
//
// Invalid ("invalid_text") if a text has NUL or is not UTF-8, which could not be stored. Internal if the program
// is wrong: no transaction, a name or a key that is none, a type of the platform's, a value without a JSON form.
// Whatever comes back, the caller's function must fail with it.
func Added(ctx context.Context, tx *postgres.Tx, entityType, entityKey string, after any) error {
	return whole(ctx, tx, OperationAdded, entityType, entityKey, after)
}

// Deleted records that an entity is gone, with the properties that it had. See Added.
func Deleted(ctx context.Context, tx *postgres.Tx, entityType, entityKey string, before any) error {
	return whole(ctx, tx, OperationDeleted, entityType, entityKey, before)
}

// Performed records an act that is no change of an entity's properties: a sign-in, a requeue by an operator. The
// fields of details, a struct or nil, are kept as new values. It is the one operation open to types of the
// platform itself ("platform.session"). See Added.
func Performed(ctx context.Context, tx *postgres.Tx, entityType, entityKey string, details any) error {
	return whole(ctx, tx, OperationPerformed, entityType, entityKey, details)
}

// Modified records which properties of an entity changed, and from what to what; if none did, nothing. See Added.
func Modified[T any](ctx context.Context, tx *postgres.Tx, entityType, entityKey string, before, after T) error {
	if err := check(tx, OperationModified, entityType, entityKey); err != nil {
		return err
	}
	changes, err := Difference(before, after)
	if err != nil {
		return fmt.Errorf("audit %s: %w", entityType, err)
	}
	if len(changes) == 0 {
		return nil
	}
	return insert(ctx, tx, OperationModified, entityType, entityKey, changes)
}

func whole(ctx context.Context, tx *postgres.Tx, op Operation, entityType, entityKey string, entity any) error {
	if err := check(tx, op, entityType, entityKey); err != nil {
		return err
	}
	changes := []Change{}
	if entity != nil || op != OperationPerformed {
		properties, err := capture(entity)
		if err != nil {
			return fmt.Errorf("audit %s: %w", entityType, err)
		}
		for _, p := range properties {
			shown, err := p.shown()
			if err != nil {
				return fmt.Errorf("audit %s: %w", entityType, err)
			}
			change := Change{Property: p.name, New: shown}
			if op == OperationDeleted {
				change.Old, change.New = shown, nil
			}
			changes = append(changes, change)
		}
	}
	return insert(ctx, tx, op, entityType, entityKey, changes)
}

// Difference returns the changes that Modified would record for two structs of one type. A module's test asks it
// whether what is personal is redacted. For its faults see Added.
func Difference(before, after any) ([]Change, error) {
	if reflect.TypeOf(before) != reflect.TypeOf(after) {
		return nil, fault.New(fault.Internal, "audit_unsupported", "what is compared must be of one type")
	}
	was, err := capture(before)
	if err != nil {
		return nil, err
	}
	is, err := capture(after)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for i := range is {
		if bytes.Equal(was[i].plain, is[i].plain) { // in full: two addresses differ, even if both are redacted
			continue
		}
		from, err := was[i].shown()
		if err != nil {
			return nil, err
		}
		to, err := is[i].shown()
		if err != nil {
			return nil, err
		}
		changes = append(changes, Change{Property: is[i].name, Old: from, New: to})
	}
	return changes, nil
}

var chosenName = regexp.MustCompile(`^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$`)

func check(tx *postgres.Tx, op Operation, entityType, entityKey string) error {
	switch module, _, _ := strings.Cut(entityType, "."); {
	case tx == nil:
		return fault.New(fault.Internal, "audit_no_transaction", "an audit entry needs the transaction of what it records")
	case !chosenName.MatchString(entityType) || len(entityType) > maxType:
		return fault.New(fault.Internal, "audit_entity_type", "an audited type has a chosen name like sales.order")
	case module == "platform" && op != OperationPerformed:
		return fault.New(fault.Internal, "audit_entity_type", "the platform's own tables are not audited")
	case entityKey == "" || utf8.RuneCountInString(entityKey) > maxKey:
		return fault.Newf(fault.Internal, "audit_entity_key", "an audited entity has a key of at most %d characters", maxKey)
	}
	return checkText(entityKey)
}

func insert(ctx context.Context, tx *postgres.Tx, op Operation, entityType, entityKey string, changes []Change) error {
	stored, err := strictjson.Encode(changes)
	if err != nil {
		return fmt.Errorf("audit %s: %w", entityType, err)
	}
	o := identity.Capture(ctx)
	_, err = tx.Exec(ctx, `
		INSERT INTO platform.audit_entries (id, source, entity_type, entity_key, operation, changes,
			changed_by, correlation_id, tenant)
		VALUES ($1, $2, $3, $4, $5, $6, nullif($7, ''), nullif($8, ''), nullif($9, ''))`,
		uuid.Must(uuid.NewV7()), tx.Source().Name(), entityType, entityKey, string(op), stored,
		o.UserID, o.CorrelationID, o.Tenant)
	if err != nil {
		return fmt.Errorf("audit %s: %w", entityType, postgres.Fault(err))
	}
	return nil
}
