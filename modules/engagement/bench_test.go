package engagement_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

const clients = 8

// parallel shares b.N runs of do among the clients.
func parallel(b *testing.B, do func() error) {
	b.Helper()
	var done atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range clients {
		group.Go(func() {
			for done.Add(1) <= int64(b.N) {
				if err := do(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "votes/s")
}

// One poll, eight clients, each vote by somebody else: what it costs above an insert into a table without any rule, of
// which each has a transaction of its own, too.
func BenchmarkVotes(b *testing.B) {
	b.Run("bare insert", func(b *testing.B) {
		r := newRig(b)
		p := r.open(false)
		super := postgrestest.Connect(b, postgres.Config{URL: pgtest.AsSuperuser(b, r.source.Database().URL())}).Source("engagement")
		postgrestest.Exec(b, super, `CREATE TABLE engagement.bare (poll_id uuid, voter uuid, option_id uuid, PRIMARY KEY (poll_id, voter, option_id))`)
		postgrestest.Exec(b, super, `GRANT INSERT ON engagement.bare TO public`)
		parallel(b, func() error {
			return r.source.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO engagement.bare VALUES ($1, $2, $3)`, p.ID, uuid.New(), p.Options[0].ID)
				return err
			})
		})
	})
	b.Run("vote", func(b *testing.B) {
		r := newRig(b)
		p := r.open(false)
		parallel(b, func() error { return r.cast(r.newcomer(), p, 0) })
		if n := r.show(p).Voters; n != b.N {
			b.Errorf("%d of %d votes count", n, b.N)
		}
	})
	b.Run("vote over HTTP with the tally as answer", func(b *testing.B) {
		r := newRig(b)
		p := r.open(false)
		body := `{"options":["` + p.Options[0].ID.String() + `"]}`
		parallel(b, func() error {
			request := httptest.NewRequest("PUT", "/api/v1/engagement/polls/"+p.ID.String()+"/ballot", strings.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			request.AddCookie(&http.Cookie{Name: "plenary_room_" + r.code, Value: r.newcomerToken()})
			response := httptest.NewRecorder()
			r.api.ServeHTTP(response, request)
			if response.Code != http.StatusOK {
				return fault.New(fault.Internal, "bench", response.Body.String())
			}
			return nil
		})
	})
}

// newcomer is a voter who did not have to ask the database for it.
func (r *rig) newcomer() context.Context {
	id, _, _ := strings.Cut(strings.TrimPrefix(r.known(), "voter:"), ":")
	return as(identity.Principal{ID: "voter:" + id + ":" + uuid.NewString()})
}

func (r *rig) newcomerToken() string {
	id, _, _ := strings.Cut(strings.TrimPrefix(r.known(), "voter:"), ":")
	return r.Issue(uuid.MustParse(id), uuid.New())
}

// known is the principal of somebody who has joined.
func (r *rig) known() string {
	r.once.Do(func() {
		j, err := r.JoinRoom(context.Background(), engagement.JoinRoom{Code: r.code})
		if err != nil {
			r.t.Error(err)
		}
		r.member = j.Principal.ID
	})
	return r.member
}
