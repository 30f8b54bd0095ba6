package engagement_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestShortSigningKeyIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := engagement.New(engagement.Deps{Logger: slog.Default(), SigningKey: make([]byte, engagement.MinSigningKey-1)}); err == nil {
		t.Error("voters are signed with next to nothing")
	}
}

// Replicas that are given no key share the database's. Before it is read nothing is signed, and nothing passes.
func TestSigningKeyOfTheDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	one, two := r.another(nil), r.another(nil)
	room, voter := uuid.New(), uuid.New()
	unsigned := func(m *engagement.Module) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		m.Issue(room, voter)
		return false
	}
	if !unsigned(one) {
		t.Error("a token was signed with no key")
	}
	passes := func(m *engagement.Module, token string) bool {
		p, err := m.Authenticator(sessions{}).Authenticate(t.Context(), token)
		return err == nil && strings.HasSuffix(p.ID, voter.String())
	}
	if passes(two, engagement.Forged(room, voter)) {
		t.Error("a token passes where there is no key")
	}
	for _, m := range []*engagement.Module{one, two} {
		if err := m.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if token := one.Issue(room, voter); !passes(two, token) || passes(r.Module, token) {
		t.Error("replicas do not know each other's voters, or everybody does")
	}
	if n := postgrestest.Value[int](t, r.source, `SELECT length(key) FROM engagement.signing_key`); n != 32 {
		t.Errorf("the key has %d bytes", n)
	}
}

// The trail has what hosts and moderators did, and nobody who voted or asked.
func TestTrailNamesNoVoter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, voter := r.open(false), r.voter()
	if err := r.cast(voter, p, 0); err != nil {
		t.Fatal(err)
	}
	q := r.ask(voter, "Why?")
	if err := r.moderate(q, "approve"); err != nil {
		t.Fatal(err)
	}
	r.end(p)
	got := postgrestest.Value[string](t, r.source, `
		SELECT string_agg(entity_type || ' ' || operation, ', ' ORDER BY id) FROM platform.audit_entries WHERE changed_by = $1`, users["host"].ID)
	if got != "engagement.poll added, engagement.poll modified, engagement.question modified, engagement.poll modified" {
		t.Errorf("the trail: %s", got)
	}
	if others := postgrestest.Value[int](t, r.source, `SELECT count(*) FROM platform.audit_entries WHERE changed_by <> $1`, users["host"].ID); others != 0 {
		t.Errorf("%d entries are of others", others)
	}
}
