package web

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/later/lease"
)

// functions are what the templates can call.
func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"asset":     s.static.url,
		"iso":       func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
		"utc":       utc,
		"status":    statusBadge,
		"state":     stateBadge,
		"short":     short,
		"session":   sessionBadge,
		"clock":     func(t time.Time) string { return t.Format("15:04") },
		"count":     count,
		"sentence":  sentence,
		"json":      indented,
		"now":       func() time.Time { return s.Now() },
		"dict":      dict,
		"tail":      tail,
		"took":      func(from, to time.Time) string { return to.Sub(from).Round(time.Millisecond).String() },
		"outcome":   outcomeBadge,
		"job":       jobBadge,
		"run":       runBadge,
		"last":      lastBadge,
		"operation": operationBadge,
		"property":  propertyOf,
		"from":      fromWords,
		"zoned":     zoned,
		"zone":      inZone,
		"relative":  func(t time.Time) string { return relative(t, s.Now()) },
		"ms":        func(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() },
	}
}

func utc(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") }

// badge is a word about a state, and its colour: good, busy, wait, bad or calm.
type badge struct{ Tone, Word string }

func statusBadge(status sales.Status) badge {
	switch status {
	case sales.PendingPayment:
		return badge{"wait", "Waiting for payment"}
	case sales.PaymentInitiated:
		return badge{"busy", "Payment under way"}
	case sales.PaymentFailed:
		return badge{"bad", "Payment failed"}
	case sales.Paid:
		return badge{"good", "Paid"}
	case sales.Cancelled:
		return badge{"calm", "Cancelled"}
	case sales.Expired:
		return badge{"calm", "Expired"}
	default:
		return badge{"calm", string(status)}
	}
}

func stateBadge(state lease.State) badge {
	switch state {
	case lease.Scheduled:
		return badge{"calm", "Scheduled"}
	case lease.Due:
		return badge{"wait", "Due"}
	case lease.Running:
		return badge{"busy", "Running"}
	case lease.Retrying:
		return badge{"wait", "Retrying"}
	case lease.Succeeded:
		return badge{"good", "Succeeded"}
	case lease.DeadLettered:
		return badge{"bad", "Dead letter"}
	default:
		return badge{"calm", string(state)}
	}
}

// failureText says why a payment failed.
func failureText(reason string) string {
	switch reason {
	case "insufficient_funds":
		return "the account does not cover the amount"
	case "no_answer":
		return "the bank did not answer in time"
	default:
		return "the card was declined"
	}
}

// outcomeBadge is for one attempt at a piece of work.
func outcomeBadge(outcome string) badge {
	switch outcome {
	case "succeeded":
		return badge{"good", "Succeeded"}
	case "failed":
		return badge{"wait", "Failed"}
	case "dead_lettered":
		return badge{"bad", "Given up"}
	case "crashed":
		return badge{"bad", "Crashed"}
	case "released":
		return badge{"calm", "Given back"}
	case "put_off":
		return badge{"calm", "Put off"}
	default:
		return badge{"calm", outcome}
	}
}

// short is the end of an id: of those that were made in the same moment it is what differs.
func short(id uuid.UUID) string { return tail(id.String()) }

// tail is what is shown of an id where there is no room for all of it.
func tail(id string) string { return id[max(0, len(id)-8):] }

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func indented(raw json.RawMessage) string {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return string(raw)
	}
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(text)
}

// sentence makes a sentence of a fault's message.
func sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[size:], ".") + "."
}

// dict passes several values to a part of a template: names and values by turns.
func dict(pairs ...any) (map[string]any, error) {
	d := map[string]any{}
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict takes pairs")
	}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict takes names and values by turns")
		}
		d[name] = pairs[i+1]
	}
	return d, nil
}
