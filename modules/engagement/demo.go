package engagement

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

// MaxAudience is how many people the demo makes up at once.
const MaxAudience = 10_000

// DemoAudience has so many people who do not exist vote in the open polls of a room, through the same door as all others, and returns
// how many did. NotFound ("engagement.room_not_found"); Conflict ("engagement.poll_not_open") if no poll is open.
func (m *Module) DemoAudience(ctx context.Context, code string, people int) (int, error) {
	state, err := m.rooms.read(ctx, normalizeCode(code))
	if err != nil {
		return 0, err
	}
	var open []Poll
	for _, p := range state.polls {
		if p.Status == PollOpen {
			open = append(open, p)
		}
	}
	if len(open) == 0 {
		return 0, fault.New(fault.Conflict, "engagement.poll_not_open", "no poll of the room is open")
	}
	var crowd sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	voted, places := 0, make(chan struct{}, 8)
	for range min(people, MaxAudience) {
		places <- struct{}{}
		crowd.Go(func() {
			defer func() { <-places }()
			p := open[rand.IntN(len(open))]
			ctx := identity.WithPrincipal(ctx, voterPrincipal(state.ID, uuid.New()))
			_, err := m.CastBallot(ctx, CastBallot{PollID: p.ID, Options: []uuid.UUID{p.Options[favourite(len(p.Options))].ID}})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				voted++
			} else if fault.KindOf(err) != fault.Conflict { // closed meanwhile: they came too late
				errs = append(errs, err)
			}
		})
	}
	crowd.Wait()
	return voted, errors.Join(errs...)
}

// favourite prefers the first ones, so that there is something to see.
func favourite(options int) int { return min(rand.IntN(options), rand.IntN(options)) }
