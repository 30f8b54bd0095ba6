package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// One reads the one row that sql selects, or returns missing, as it is, if there is none. Any other error says what
// was being done ("read order").
func One[T any](ctx context.Context, r Reader, what string, scan pgx.RowToFunc[T], missing error, sql string, args ...any) (T, error) {
	var none T
	rows, err := r.Query(ctx, sql, args...)
	if err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, scan)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return none, missing
	case err != nil:
		return none, fmt.Errorf("%s: %w", what, err)
	default:
		return row, nil
	}
}
