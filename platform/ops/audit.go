package ops

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

// act is what the trail keeps of what an operator did.
type act struct {
	Action   string            `json:"action"`
	Reason   string            `json:"reason"`
	Affected int               `json:"affected"`
	Details  map[string]string `json:"details"`
}

// note writes down what an operator did, in the transaction of it: who, why, to what, and how much of it there was.
// Once it has committed, a line of the log says the same.
func (c *Console) note(ctx context.Context, tx *postgres.Tx, entityType, key string, a act, details ...slog.Attr) error {
	a.Details = map[string]string{}
	for _, d := range details {
		a.Details[d.Key] = d.Value.String()
	}
	if err := audit.Performed(ctx, tx, entityType, key, a); err != nil {
		return err
	}
	attrs := append([]slog.Attr{
		slog.String("action", a.Action), slog.String("by", identity.PrincipalOf(ctx).ID), slog.Int("affected", a.Affected),
		slog.String("reason", a.Reason),
	}, details...)
	tx.AfterCommitOrUnknown(func(ctx context.Context) { c.logger.LogAttrs(ctx, slog.LevelInfo, "operator", attrs...) })
	return nil
}

// AuditView is an entry of the audit trail as it is shown.
type AuditView struct {
	ID            uuid.UUID       `json:"id"`
	Source        string          `json:"source"`
	EntityType    string          `json:"entityType"`
	EntityKey     string          `json:"entityKey"`
	Operation     audit.Operation `json:"operation" enum:"added,modified,deleted,performed"`
	Changes       []AuditChange   `json:"changes"`
	ChangedBy     *string         `json:"changedBy"`
	ChangedOn     time.Time       `json:"changedOn"`
	CorrelationID *string         `json:"correlationId"`
}

// AuditChange is one property of an entry.
type AuditChange struct {
	Property string          `json:"property"`
	Old      json.RawMessage `json:"old"`
	New      json.RawMessage `json:"new"`
}

func auditViewOf(e audit.Entry) AuditView {
	v := AuditView{
		ID: e.ID, Source: e.Source, EntityType: e.EntityType, EntityKey: e.EntityKey, Operation: e.Operation,
		ChangedBy: e.ChangedBy, ChangedOn: e.ChangedOn.UTC(), CorrelationID: e.CorrelationID,
	}
	for _, c := range e.Changes {
		v.Changes = append(v.Changes, AuditChange{Property: c.Property, Old: orNull(c.Old), New: orNull(c.New)})
	}
	return v
}

func orNull(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("null")
	}
	return value
}

// AuditTrail returns entries of all databases, newest first, below the id before; the zero id is the start.
func (c *Console) AuditTrail(ctx context.Context, f audit.Filter, before uuid.UUID, limit int) ([]audit.Entry, error) {
	return gather(c, limit, func(e audit.Entry) uuid.UUID { return e.ID }, func(db *postgres.Source) ([]audit.Entry, error) {
		return audit.List(ctx, db, f, before, limit)
	})
}

func (c *Console) getAudit(ctx context.Context, in struct {
	httpx.Paging
	EntityType    string    `query:"entityType" maxLength:"256"`
	EntityKey     string    `query:"entityKey" maxLength:"128"`
	Actor         string    `query:"actor" maxLength:"200" doc:"A user's id, or a part of the system like system:clock"`
	CorrelationID string    `query:"correlationId" maxLength:"64"`
	From          time.Time `query:"from" doc:"The first instant"`
	To            time.Time `query:"to" doc:"The first instant that is too late"`
},
) (httpx.Response[httpx.Page[AuditView]], error) {
	filter := audit.Filter{EntityType: in.EntityType, EntityKey: in.EntityKey, Actor: in.Actor, CorrelationID: in.CorrelationID, From: in.From, To: in.To}
	return httpx.ByID(ctx, in.Paging, func(ctx context.Context, limit int, before uuid.UUID) ([]AuditView, error) {
		entries, err := c.AuditTrail(ctx, filter, before, limit)
		views := make([]AuditView, len(entries))
		for i, e := range entries {
			views[i] = auditViewOf(e)
		}
		return views, err
	}, func(v AuditView) uuid.UUID { return v.ID })
}
