package engagement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/lease"
)

// Recount holds ballots and results together. As a rule it finds nothing.
type Recount struct{}

// Policy needs no permission: nobody but the clock can start it.
func (Recount) Policy() command.Policy {
	return command.Policy{Name: "engagement.recount", Timeout: 9 * time.Minute}
}

// recountRetry says that a count that is wrong does not become right by being repeated.
var recountRetry = lease.Retry{MaxAttempts: 2, Base: time.Minute}

const (
	overdueAfter = "10 minutes" // by then a poll's own command has closed it
	recountLimit = 100          // findings of one kind that are told
)

// findings are what must not be. Each statement returns the polls that it is true of.
var findings = []struct{ what, sql string }{
	{"the result of a closed poll is not what its ballots come to", `
		SELECT DISTINCT o.poll_id FROM engagement.poll_options o JOIN engagement.polls p ON p.id = o.poll_id
		WHERE p.status = 'closed' AND o.final_votes IS DISTINCT FROM (
			SELECT count(*) FROM engagement.ballots b WHERE b.poll_id = o.poll_id AND b.option_id = o.id AND b.stands)`},
	{"a ballot was changed after its poll was closed", `
		SELECT DISTINCT b.poll_id FROM engagement.ballots b JOIN engagement.polls p ON p.id = b.poll_id WHERE b.changed_on > p.closed_on`},
	{"a voter has two votes in a poll that takes one", `
		SELECT DISTINCT b.poll_id FROM engagement.ballots b JOIN engagement.polls p ON p.id = b.poll_id
		WHERE b.stands AND NOT p.multiple GROUP BY b.poll_id, b.voter HAVING count(*) > 1`},
	{"a poll has ballots and was never opened", `
		SELECT DISTINCT b.poll_id FROM engagement.ballots b JOIN engagement.polls p ON p.id = b.poll_id WHERE p.status = 'draft'`},
	{"a vote is for an option of another poll", `
		SELECT DISTINCT b.poll_id FROM engagement.ballots b
		WHERE NOT EXISTS (SELECT FROM engagement.poll_options o WHERE o.poll_id = b.poll_id AND o.id = b.option_id)`},
}

var errMiscount error = fault.New(fault.Internal, "engagement.miscount", "ballots and results do not agree; the log names the polls")

// recount first closes the polls that their own command has left open: a dead letter that nobody has read, a row that
// somebody has removed. They took no votes since their time was up. Then it looks for what must not be, which it
// mends nowhere: who is to say which number is right?
func (m *Module) recount(ctx context.Context, _ Recount) error {
	var errs []error
	overdue, err := m.pollsOf(ctx, `
		SELECT id FROM engagement.polls WHERE status = 'open' AND closes_on < now() - interval '`+overdueAfter+`' ORDER BY closes_on`)
	errs = append(errs, err)
	for _, id := range overdue {
		m.logger.WarnContext(ctx, "a poll was left open by its command", slog.String("poll", id.String()))
		errs = append(errs, m.closeDoor(ctx, ClosePoll{PollID: id}))
	}
	for _, finding := range findings {
		polls, err := m.pollsOf(ctx, finding.sql)
		errs = append(errs, err)
		for _, id := range polls {
			m.logger.ErrorContext(ctx, finding.what, slog.String("poll", id.String()))
		}
		if len(polls) > 0 {
			errs = append(errs, errMiscount)
		}
	}
	return errors.Join(errs...)
}

func (m *Module) pollsOf(ctx context.Context, sql string) ([]uuid.UUID, error) {
	rows, err := m.source.Query(ctx, sql+fmt.Sprintf(" LIMIT %d", recountLimit))
	if err != nil {
		return nil, fmt.Errorf("recount: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("recount: %w", err)
	}
	return ids, nil
}
