package engagement

import (
	"context"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/postgres"
)

// Replace is a vote inside a transaction that the test holds open.
func (m *Module) Replace(ctx context.Context, tx *postgres.Tx, poll, voter uuid.UUID, options []uuid.UUID) error {
	f, err := m.factsOf(ctx, tx, poll)
	if err != nil {
		return err
	}
	return m.replaceBallot(ctx, tx, f, poll, voter, options)
}

// DrawCodes lets rooms get these codes, one after the other.
func (m *Module) DrawCodes(codes ...string) {
	m.newCode = func() string {
		code := codes[0]
		codes = codes[1:]
		return code
	}
}

var (
	NewCode       = newCode
	NormalizeCode = normalizeCode
	ResultsCSV    = resultsCSV
)

// Issue makes a voter's token.
func (m *Module) Issue(room, voter uuid.UUID) string { return m.tokens.issue(room, voter) }

// Forged returns a token that is signed with no key, as anybody can.
func Forged(room, voter uuid.UUID) string {
	return (&voterTokens{now: time.Now}).encode(room, voter)
}
