package sales

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/later/schedule"
)

// ReconcilePayments looks for orders and payments that their own commands have left behind: a dead letter that
// nobody has read, a row that somebody has removed. As a rule it finds none.
type ReconcilePayments struct{}

// Policy needs no permission: nobody but the clock can start it.
func (ReconcilePayments) Policy() command.Policy {
	return command.Policy{Name: "sales.reconcile_payments", Timeout: 9 * time.Minute}
}

// How long what is behind time may still be seen to by its own command, and how much one sweep sees to.
const (
	stuckAfter     = 30 * time.Minute
	reconcileBatch = 50
)

func (m *Module) registerJobs(jobs *schedule.Schedule) {
	jobs.Register("sales.reconcile_payments", "*/10 * * * *", ReconcilePayments{})
}

// reconcilePayments expires first and asks the gateway afterwards. The other way round, a payment that is found
// to have failed would open its order for another one just before that expires. Each order has a transaction of
// its own, and one that cannot be seen to does not keep the others waiting.
func (m *Module) reconcilePayments(ctx context.Context, _ ReconcilePayments) error {
	overdue, err := m.stuck(ctx, `
		SELECT id FROM sales.orders WHERE status IN ('pending_payment', 'payment_failed') AND expires_on < now() - $1::interval
		ORDER BY expires_on LIMIT $2`)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range overdue {
		errs = append(errs, m.expireDoor(ctx, ExpireUnpaidOrder{OrderID: id}))
	}
	unsettled, err := m.stuck(ctx, `
		SELECT id FROM sales.payments WHERE status = 'initiated' AND initiated_on < now() - $1::interval
		ORDER BY initiated_on LIMIT $2`)
	errs = append(errs, err)
	for _, id := range unsettled {
		errs = append(errs, m.settleDoor(ctx, SettlePayment{PaymentID: id}))
	}
	if len(overdue)+len(unsettled) > 0 {
		m.logger.WarnContext(ctx, "orders were left behind by their commands",
			slog.Int("overdue", len(overdue)), slog.Int("unsettled", len(unsettled)))
	}
	return errors.Join(errs...)
}

func (m *Module) stuck(ctx context.Context, sql string) ([]uuid.UUID, error) {
	rows, err := m.source.Query(ctx, sql, stuckAfter, reconcileBatch)
	if err != nil {
		return nil, fmt.Errorf("look for what is stuck: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("look for what is stuck: %w", err)
	}
	return ids, nil
}
