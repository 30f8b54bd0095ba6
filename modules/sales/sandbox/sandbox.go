// Package sandbox is a payment gateway that moves no money.
//
// It behaves like the real ones where that matters: it keeps a ledger by idempotency key, which survives a
// kill and is shared by all replicas; the same key is charged once and answered the same way for ever; and it
// can be silent. The payment methods say what happens:
//
//	tok_visa                 approved
//	tok_declined             declined
//	tok_insufficient_funds   declined
//	tok_timeout              charged as declined, but the answer never comes; asked again, it answers
//	tok_flaky                declines the first payment of a reference and approves the next
package sandbox

import (
	"context"
	"fmt"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/postgres"
)

// Gateway is the sandbox. It is safe for concurrent use.
type Gateway struct{ ledger *postgres.Source }

// New returns a gateway whose ledger lies in the schema "sandbox" of ledger's database. Give it a connection
// of its own: it stands for a system that shares nothing with ours.
func New(ledger *postgres.Source) *Gateway { return &Gateway{ledger} }

// Knows reports whether method is one of the sandbox's.
func (g *Gateway) Knows(method string) bool {
	switch method {
	case "tok_visa", "tok_declined", "tok_insufficient_funds", "tok_timeout", "tok_flaky":
		return true
	default:
		return false
	}
}

// Charge books the charge and answers, unless it is one that gets no answer: then it returns when ctx ends.
func (g *Gateway) Charge(ctx context.Context, c sales.Charge) (sales.Outcome, error) {
	var outcome sales.Outcome
	fresh := false
	err := g.ledger.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
		outcome, fresh, err = book(ctx, tx, c)
		return err
	})
	if err != nil {
		return sales.Outcome{}, fmt.Errorf("sandbox: %w", err)
	}
	if fresh && c.Method == "tok_timeout" {
		<-ctx.Done()
		return sales.Outcome{}, fmt.Errorf("sandbox: no answer: %w", context.Cause(ctx))
	}
	return outcome, nil
}

// book enters a charge into the ledger, or finds the one that bears its key.
func book(ctx context.Context, tx *postgres.Tx, c sales.Charge) (outcome sales.Outcome, fresh bool, err error) {
	var earlier int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM sandbox.charges WHERE reference = $1`, c.OrderID.String()).Scan(&earlier); err != nil {
		return sales.Outcome{}, false, err
	}
	outcome = decide(c.Method, earlier)
	word := "declined"
	if outcome.Approved {
		word = "approved"
	}
	tag, err := tx.Exec(ctx, `
		INSERT INTO sandbox.charges (idempotency_key, reference, method, amount, currency, outcome, reason)
		VALUES ($1, $2, $3, $4, $5, $6, nullif($7, '')) ON CONFLICT DO NOTHING`,
		c.PaymentID.String(), c.OrderID.String(), c.Method, c.Amount.Amount, c.Amount.Currency, word, outcome.Reason)
	if err != nil || tag.RowsAffected() == 1 {
		return outcome, true, err
	}
	err = tx.QueryRow(ctx, `SELECT outcome = 'approved', coalesce(reason, '') FROM sandbox.charges WHERE idempotency_key = $1`,
		c.PaymentID.String()).Scan(&outcome.Approved, &outcome.Reason)
	return outcome, false, err
}

func decide(method string, earlier int) sales.Outcome {
	switch {
	case method == "tok_visa", method == "tok_flaky" && earlier > 0:
		return sales.Outcome{Approved: true}
	case method == "tok_insufficient_funds":
		return sales.Outcome{Reason: "insufficient_funds"}
	case method == "tok_timeout":
		return sales.Outcome{Reason: "no_answer"}
	default:
		return sales.Outcome{Reason: "card_declined"}
	}
}
