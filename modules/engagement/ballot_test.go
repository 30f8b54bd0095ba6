package engagement_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestBallotIsASet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, multiple := range []bool{false, true} {
		p, voter := r.open(multiple), r.voter()
		sets := [][]int{{0}, {1}, {0}}
		if multiple {
			sets = [][]int{{0, 2}, {2, 1}, {1}, {0, 1, 2}}
		}
		for _, set := range sets {
			before := r.version()
			r.told()
			if err := r.cast(voter, p, set...); err != nil {
				t.Fatal(err)
			}
			after := r.show(p)
			want := [3]int{}
			for _, i := range set {
				want[i] = 1
			}
			if votes(after) != want || after.Voters != 1 || after.Version != p.Version {
				t.Errorf("%v: %v of %d voters, version %d", set, votes(after), after.Voters, after.Version)
			}
			if version := r.version(); version <= before || r.told() != 1 {
				t.Errorf("%v: the room's version went from %d to %d", set, before, version)
			}
		}
		// The same ballot in another order is the same.
		last := sets[len(sets)-1]
		before, same := r.version(), []int{}
		for i := range last {
			same = append(same, last[len(last)-1-i])
		}
		if err := r.cast(voter, p, same...); err != nil || r.version() != before || r.told() != 0 {
			t.Errorf("the same ballot: %v, version from %d to %d", err, before, r.version())
		}
		for i := range 2 { // the second time there is none
			if err := r.WithdrawBallot(voter, engagement.WithdrawBallot{PollID: p.ID}); err != nil {
				t.Fatal(err)
			}
			if after := r.show(p); after.Voters != 0 || votes(after) != [3]int{} || r.told() != 1-i {
				t.Errorf("withdrawn: %v", votes(after))
			}
		}
		if r.version() <= before {
			t.Error("a withdrawal is no change")
		}
	}
}

func TestBallotRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, other, voter := r.open(false), r.open(true), r.voter()
	if err := r.cast(voter, p, 0, 1); !fault.Is(err, "invalid_input") {
		t.Errorf("two options: %v", err)
	}
	if err := r.cast(voter, other, 0, 0); !fault.Is(err, "invalid_input") {
		t.Errorf("one twice: %v", err)
	}
	if err := r.cast(voter, p); !fault.Is(err, "invalid_input") {
		t.Errorf("none: %v", err)
	}
	_, err := r.CastBallot(voter, engagement.CastBallot{PollID: p.ID, Options: []uuid.UUID{other.Options[0].ID}})
	if !fault.Is(err, "engagement.option_not_found") {
		t.Errorf("another poll's: %v", err)
	}
	_, err = r.CastBallot(voter, engagement.CastBallot{PollID: uuid.New(), Options: []uuid.UUID{p.Options[0].ID}})
	if !fault.Is(err, "engagement.poll_not_found") {
		t.Errorf("no poll: %v", err)
	}
	for name, ctx := range map[string]context.Context{"nobody": context.Background(), "a user who has not joined": r.alice} {
		if err := r.cast(ctx, p, 0); !fault.Is(err, "engagement.not_joined") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.cast(r.host, p, 0); err != nil {
		t.Errorf("the host: %v", err)
	}
	if n := r.show(p).Voters; n != 1 {
		t.Errorf("%d voters", n)
	}
}

// The database alone keeps ballots what they are, whoever writes to it.
func TestBallotsAreHeldByConstraints(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	single, multiple := r.open(false), r.open(true)
	store := func(poll, option uuid.UUID, multiple bool, voter uuid.UUID) error {
		return r.source.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO engagement.ballots (poll_id, voter, option_id, multiple) VALUES ($1, $2, $3, $4)`, poll, voter, option, multiple)
			return err
		})
	}
	voter := uuid.New()
	if err := store(single.ID, single.Options[0].ID, false, voter); err != nil {
		t.Fatal(err)
	}
	if err := store(single.ID, single.Options[1].ID, false, voter); !postgres.Violates(err, "ballots_single") {
		t.Errorf("two votes where one may be: %v", err)
	}
	if err := store(single.ID, single.Options[1].ID, true, voter); postgres.Code(err) != postgres.ForeignKeyViolation {
		t.Errorf("a ballot that calls the poll another kind: %v", err)
	}
	if err := store(single.ID, multiple.Options[0].ID, false, uuid.New()); postgres.Code(err) != postgres.ForeignKeyViolation {
		t.Errorf("another poll's option: %v", err)
	}
	for i := range 2 {
		if err := store(multiple.ID, multiple.Options[i].ID, true, voter); err != nil {
			t.Errorf("several votes where they may be: %v", err)
		}
	}
}

func TestOneVoterInManyWindows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, voter := r.open(false), r.voter()
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			if err := r.cast(voter, p, i%2); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if after := r.show(p); after.Voters != 1 || after.Options[2].Votes != 0 {
		t.Errorf("%v", votes(after))
	}
}

// While voters hammer a poll its host closes it. What was accepted is counted, and nothing else ever is.
func TestNoVoteAfterTheClose(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 5 {
		p := r.open(false)
		var accepted, refused atomic.Int64
		var group sync.WaitGroup
		started := make(chan struct{}, 1000)
		for range 8 {
			group.Go(func() {
				for {
					started <- struct{}{}
					err := r.cast(r.voter(), p, 0)
					switch {
					case err == nil:
						accepted.Add(1)
					case fault.Is(err, "engagement.poll_closed"):
						refused.Add(1)
						return
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		for range 40 {
			<-started
		}
		closed := r.end(p)
		atClose := closed.Voters
		group.Wait()
		after := r.show(p)
		if int64(atClose) != accepted.Load() || after.Voters != atClose || refused.Load() != 8 {
			t.Errorf("%d at the close, %d afterwards, %d were accepted, %d refused", atClose, after.Voters, accepted.Load(), refused.Load())
		}
		late := postgrestest.Value[int](t, r.source, `
			SELECT count(*) FROM engagement.ballots b JOIN engagement.polls p ON p.id = b.poll_id WHERE b.changed_on > p.closed_on`)
		if late != 0 {
			t.Errorf("%d votes are later than the close", late)
		}
	}
	if err := r.Recount(context.Background(), engagement.Recount{}); err != nil {
		t.Error(err)
	}
}

// A vote that was let in before the close is awaited by it, and one that comes meanwhile waits for it in turn.
func TestCloseWaitsForVotesAndKeepsOthersOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p, voter := r.open(false), r.voter()
	inside, leave, voted := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	// A vote that has its locks, is stored, and does not commit yet: a key of the pipeline's would stop it there, too.
	go func() {
		voted <- r.source.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
			if err := r.Replace(ctx, tx, p.ID, uuid.New(), []uuid.UUID{p.Options[0].ID}); err != nil {
				return err
			}
			once.Do(func() { close(inside) })
			<-leave
			return nil
		})
	}()
	<-inside
	closed := make(chan engagement.SeenPoll, 1)
	go func() { closed <- r.end(p) }()
	r.waiting(1)
	late := make(chan error, 1)
	go func() { late <- r.cast(voter, p, 1) }()
	r.waiting(2)
	select {
	case <-closed:
		t.Fatal("it was closed over a vote")
	default:
	}
	close(leave)
	if err := <-voted; err != nil {
		t.Fatal(err)
	}
	if got := <-closed; votes(got) != [3]int{1, 0, 0} {
		t.Errorf("closed with %v", votes(got))
	}
	if err := <-late; !fault.Is(err, "engagement.poll_closed") {
		t.Errorf("the vote that waited: %v", err)
	}
}

// waiting returns once n sessions of this database wait for an advisory lock.
func (r *rig) waiting(n int) {
	r.t.Helper()
	for {
		waiting := postgrestest.Value[int](r.t, r.source, `
			SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()`)
		if waiting >= n {
			return
		}
	}
}
