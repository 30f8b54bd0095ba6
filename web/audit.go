package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/fault"
)

// auditData is a part of the trail, and what narrows it down, as it was typed.
type auditData struct {
	complaints
	people
	Entries  []audit.Entry
	Asked    url.Values // the filter, without what is empty
	From, To string     // as the form's inputs write them
	Newest   string
	Next     string
}

// auditFilters are the parameters of the address that narrow the trail down.
var auditFilters = []string{"entityType", "entityKey", "actor", "correlationId", "from", "to"}

// Value returns one parameter of the filter.
func (d auditData) Value(name string) string { return d.Asked.Get(name) }

// Narrowed reports whether anything narrows the trail down.
func (d auditData) Narrowed() bool { return len(d.Asked) > 0 }

// audit shows the trail. It shows nothing of it while the filter has a fault: a misspelt one must not show
// everything.
func (s *Site) audit(w http.ResponseWriter, r *http.Request) error {
	d := auditData{Asked: url.Values{}, Newest: newest(r)}
	for _, name := range auditFilters {
		if value := r.URL.Query().Get(name); value != "" {
			d.Asked.Set(name, value)
		}
	}
	filter := audit.Filter{
		EntityType: d.Value("entityType"), EntityKey: d.Value("entityKey"), Actor: d.Value("actor"), CorrelationID: d.Value("correlationId"),
	}
	var v fault.Violations
	filter.From, d.From = d.moment("from", &v)
	filter.To, d.To = d.moment("to", &v)
	v.Check(filter.From.IsZero() || filter.To.IsZero() || filter.From.Before(filter.To), "to", "out_of_range", "must be later than the beginning")
	status := 0
	if err := v.Err(); err != nil {
		d.complaints, status, _ = complain(err)
	} else if err := s.readTrail(r, filter, &d); err != nil {
		return err
	}
	return s.render(w, r, "audit", show{Status: status, Title: "Audit trail", Section: "ops", Data: d})
}

func (s *Site) readTrail(r *http.Request, filter audit.Filter, d *auditData) (err error) {
	d.Entries, d.Next, err = keyset(r, 25, func(limit int, before uuid.UUID) ([]audit.Entry, error) {
		return s.Console.AuditTrail(r.Context(), filter, before, limit)
	}, func(e audit.Entry) uuid.UUID { return e.ID })
	if err != nil {
		return err
	}
	who := make([]*string, len(d.Entries))
	for i, e := range d.Entries {
		who[i] = e.ChangedBy
	}
	d.people, err = s.namesOf(r.Context(), who...)
	return err
}

// minutes is how an input of the type datetime-local writes a moment. Here it means UTC.
const minutes = "2006-01-02T15:04"

// moment reads a parameter as the form writes it, or as the API does, and returns it for the form too.
func (d auditData) moment(name string, v *fault.Violations) (t time.Time, typed string) {
	text := d.Value(name)
	if text == "" {
		return t, ""
	}
	for _, layout := range []string{minutes, "2006-01-02T15:04:05", "2006-01-02", time.RFC3339Nano} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), t.UTC().Format(minutes)
		}
	}
	v.Add(name, "invalid_time", "must be a date and a time, like 2026-12-01T09:30")
	return t, ""
}

func operationBadge(operation audit.Operation) badge {
	switch operation {
	case audit.OperationAdded:
		return badge{"good", "Added"}
	case audit.OperationModified:
		return badge{"busy", "Modified"}
	case audit.OperationDeleted:
		return badge{"bad", "Deleted"}
	case audit.OperationPerformed:
		return badge{"calm", "Performed"}
	default:
		return badge{"calm", string(operation)}
	}
}

// property is a value of the trail as it is shown: its text, or that there is none to be shown.
type property struct {
	Text     string
	Redacted bool
	None     bool
}

func propertyOf(value json.RawMessage) property {
	text := string(value)
	return property{Text: text, Redacted: text == `"[REDACTED]"`, None: len(value) == 0 || text == "null"}
}
