package engagement_test

import (
	"context"
	"strings"
	"testing"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func (r *rig) recount() error { return r.Recount(context.Background(), engagement.Recount{}) }

func TestRecountFindsWhatMustNotBe(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]string{
		"a vote that vanished":      `DELETE FROM engagement.ballots WHERE ctid = (SELECT min(ctid) FROM engagement.ballots)`,
		"a vote that moved":         `UPDATE engagement.ballots b SET option_id = (SELECT id FROM engagement.poll_options o WHERE o.poll_id = b.poll_id AND position = 3)`,
		"a vote after the close":    `UPDATE engagement.ballots SET changed_on = now() + interval '1 hour'`,
		"a result that was changed": `UPDATE engagement.poll_options SET final_votes = final_votes + 1`,
		"a result that is missing":  `UPDATE engagement.poll_options SET final_votes = NULL`,
		"votes in a draft":          `UPDATE engagement.polls SET status = 'draft', closed_on = NULL`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			p := r.open(false)
			for range 3 {
				if err := r.cast(r.voter(), p, 0); err != nil {
					t.Fatal(err)
				}
			}
			r.end(p)
			if err := r.recount(); err != nil {
				t.Fatal(err)
			}
			postgrestest.Exec(t, r.source, plant)
			if err := r.recount(); !fault.Is(err, "engagement.miscount") {
				t.Errorf("it finds nothing: %v", err)
			}
		})
	}
}

// The constraints that keep these out are taken away first.
func TestRecountFindsWhatConstraintsKeepOut(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]string{
		"two votes where one may be": `
			DROP INDEX engagement.ballots_single;
			INSERT INTO engagement.ballots (poll_id, voter, option_id, multiple)
			SELECT b.poll_id, b.voter, o.id, false FROM engagement.ballots b JOIN engagement.poll_options o USING (poll_id) WHERE o.position = 2`,
		"a vote for another poll's option": `
			ALTER TABLE engagement.ballots DROP CONSTRAINT ballots_poll_id_option_id_multiple_fkey;
			UPDATE engagement.ballots SET option_id = gen_random_uuid()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			p := r.open(false)
			if err := r.cast(r.voter(), p, 0); err != nil {
				t.Fatal(err)
			}
			if err := r.recount(); err != nil {
				t.Fatal(err)
			}
			super := postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, r.source.Database().URL())}).Source("engagement")
			for _, statement := range strings.Split(plant, ";") {
				postgrestest.Exec(t, super, statement)
			}
			if err := r.recount(); !fault.Is(err, "engagement.miscount") {
				t.Errorf("it finds nothing: %v", err)
			}
		})
	}
}

func TestRecountClosesWhatWasLeftOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, fresh := r.open(false, 90), r.open(false, 90)
	postgrestest.Exec(t, r.source, `DELETE FROM platform.internal_commands`)
	postgrestest.Exec(t, r.source, `UPDATE engagement.polls SET closes_on = now() - interval '11 minutes' WHERE id = $1`, p.ID)
	postgrestest.Exec(t, r.source, `UPDATE engagement.polls SET closes_on = now() - interval '9 minutes' WHERE id = $1`, fresh.ID)
	if err := r.recount(); err != nil {
		t.Fatal(err)
	}
	if a, b := r.show(p), r.show(fresh); a.Status != engagement.PollClosed || b.Status != engagement.PollOpen {
		t.Errorf("%s, and the one that is still its command's %s", a.Status, b.Status)
	}
}
