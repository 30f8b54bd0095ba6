package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/live"
)

func TestFailuresOfTheModuleCostOnlyTime(t *testing.T) {
	t.Parallel()
	s := newStore()
	failures := make(chan func() error, 1)
	next := func() error {
		select {
		case fail := <-failures:
			return fail()
		default:
			return nil
		}
	}
	r := newReplica(t, s, func(c *live.Config) {
		c.Load = func(ctx context.Context, room string) (live.State, error) {
			state, _ := s.load(ctx, room)
			return state, next()
		}
		c.Versions = func(ctx context.Context, rooms []string) (map[string]int64, error) {
			all, _ := s.versions(ctx, rooms)
			return all, next()
		}
	})
	v, _ := r.join("a")
	for i, fail := range []func() error{
		func() error { panic("boom") },
		func() error { return errors.New("no database") },
	} {
		failures <- fail
		r.change("a", poll{ID: fmt.Sprint(i), Stage: "opened"}, true)
		failures <- fail // there is room for it once the first has come about
		if _, err := r.CompareOnce(t.Context()); err == nil {
			t.Error("a failed comparison is none")
		}
		if _, err := r.CompareOnce(t.Context()); err != nil {
			t.Error(err)
		}
		v.sees(fmt.Sprintf("poll.opened %d 0", i))
	}
}

type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { panic("boom") }

func TestPartThatCannotBeEncodedHidesNoOther(t *testing.T) {
	t.Parallel()
	r := newReplica(t, newStore())
	v, _ := r.join("a")
	for _, body := range []any{unwritable{}, make(chan int), "no object", nil} {
		r.mu.Lock()
		version := r.rooms["a"].Version + 1
		part := live.Part{Key: "x", Version: version, Entered: "x", Updated: "x", Audience: live.Everyone, Body: body}
		r.rooms["a"] = live.State{Version: version, Parts: []live.Part{part}}
		r.mu.Unlock()
		r.change("a", poll{ID: "1", Stage: "opened"}, true)
		if got := v.next().Poll.ID; got != "1" {
			t.Errorf("got poll %q", got)
		}
	}
	r.stop() // the last one may be on its way
	if n := strings.Count(r.log.String(), "a part of a room cannot be encoded"); n != 4 {
		t.Errorf("%d lines tell of 4 failures:\n%s", n, r.log)
	}
}

func TestConfigurationThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	s := newStore()
	for i, change := range []func(*live.Config){
		func(c *live.Config) { c.Load = nil },
		func(c *live.Config) { c.Versions = nil },
		func(c *live.Config) { c.Capacity = -1 },
		func(c *live.Config) { c.QueueFrames = -1 },
		func(c *live.Config) { c.Limits.PerRoom = -1 },
		func(c *live.Config) { c.WriteTimeout = 4 * time.Second },
		func(c *live.Config) { c.PongTimeout = time.Minute },
		func(c *live.Config) { c.TrustedOrigins = []string{"app.example.test"} },
		func(c *live.Config) { c.TrustedOrigins = []string{"https://app.example.test/path"} },
	} {
		config := live.Config{Load: s.load, Versions: s.versions}
		change(&config)
		if _, err := live.New(config); err == nil {
			t.Errorf("case %d is accepted", i)
		}
	}
}
