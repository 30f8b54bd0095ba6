package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/fault"
)

// SQLSTATE codes that code branches on.
const (
	UniqueViolation      = "23505"
	CheckViolation       = "23514"
	ForeignKeyViolation  = "23503"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	lockNotAvailable     = "55P03"
	queryCanceled        = "57014"
	idleInTransaction    = "25P03"
	cachedPlanChanged    = "0A000"
)

// Code returns the SQLSTATE code in err's chain, or "".
func Code(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// Violates reports whether err is a violation of the named constraint.
func Violates(err error, constraint string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.ConstraintName == constraint
}

// Fault gives an error of the driver its kind; it is the one table from PostgreSQL's codes to faults. Errors
// that have a kind already, pgx.ErrNoRows and cancellation pass as they are; what no row covers stays an
// error without a kind, which is Internal.
func Fault(err error) error {
	if err == nil || fault.As(err) != nil || errors.Is(err, pgx.ErrNoRows) || errors.Is(err, context.Canceled) {
		return err
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return faultOf(answer, err)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &connect) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		(errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)) || brokenPipe(err) {
		return unavailable(err, "database_unavailable", "the database does not answer")
	}
	return err
}

func faultOf(answer *pgconn.PgError, err error) error {
	switch {
	case connectionLost(answer), strings.HasPrefix(answer.Code, "53"):
		return unavailable(err, "database_unavailable", "the database does not answer")
	case answer.Code == serializationFailure, answer.Code == deadlockDetected:
		return unavailable(err, "database_contention", "others were changing the same things")
	case answer.Code == lockNotAvailable:
		return unavailable(err, "database_busy", "somebody else holds what is needed for too long")
	case answer.Code == queryCanceled:
		return unavailable(err, "database_timeout", "the database took too long")
	case answer.Code == UniqueViolation:
		return fault.Wrap(err, fault.Conflict, "already_exists", "it exists already")
	case answer.Code == "22021", answer.Code == "22P05":
		return fault.Wrap(err, fault.Invalid, "invalid_text", "a text has a character that cannot be stored")
	case answer.Code == "22003", answer.Code == "22008":
		return fault.Wrap(err, fault.Invalid, "out_of_range", "a number or date is out of range")
	default:
		return err
	}
}

func unavailable(err error, code, message string) error {
	e := fault.Wrap(err, fault.Unavailable, code, message)
	e.RetryAfter = time.Second
	return e
}

// connectionLost reports whether the server's answer was that it ended the session, or cannot have one.
func connectionLost(answer *pgconn.PgError) bool {
	return strings.HasPrefix(answer.Code, "08") || strings.HasPrefix(answer.Code, "57P") || answer.Code == idleInTransaction
}

// repeatable reports whether running the transaction again may succeed where it just failed.
func repeatable(err error) bool {
	switch Code(err) {
	case serializationFailure, deadlockDetected:
		return true
	default:
		return planChanged(err)
	}
}

// planChanged reports whether a migration changed a table under a prepared statement. The driver has forgotten the
// statement by the time that its rows are closed.
func planChanged(err error) bool {
	return Code(err) == cachedPlanChanged && strings.Contains(err.Error(), "cached plan")
}

// brokenPipe covers the driver's errors for a connection that was lost earlier; they have no type.
func brokenPipe(err error) bool {
	text := err.Error()
	return strings.Contains(text, "conn closed") || strings.Contains(text, "broken pipe") ||
		strings.Contains(text, "connection reset") || strings.Contains(text, "closed pool")
}
