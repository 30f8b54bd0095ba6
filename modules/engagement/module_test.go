package engagement_test

import (
	"log/slog"
	"testing"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestShortSigningKeyIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := engagement.New(engagement.Deps{Logger: slog.Default(), SigningKey: make([]byte, engagement.MinSigningKey-1)}); err == nil {
		t.Error("voters are signed with next to nothing")
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
