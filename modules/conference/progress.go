package conference

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// ScoringProgress tells how far the pass of a scoring command has come; ok is false before it has begun.
func (m *Module) ScoringProgress(ctx context.Context, id uuid.UUID) (done, total int, ok bool, err error) {
	err = m.source.QueryRow(ctx, `SELECT done, total FROM conference.scoring_passes WHERE id = $1`, id).Scan(&done, &total)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, false, nil
	}
	if err != nil {
		return 0, 0, false, fmt.Errorf("read the progress of a pass: %w", err)
	}
	return done, total, true, nil
}
