package scoring

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
)

// hold answers when told to, and says who has come.
type hold struct {
	came    chan struct{}
	release chan struct{}
}

func newHold(t *testing.T) (*hold, *service) {
	t.Helper()
	h := &hold{came: make(chan struct{}, 100), release: make(chan struct{})}
	return h, newService(t, func(w http.ResponseWriter, r *http.Request) {
		h.came <- struct{}{}
		select {
		case <-h.release:
			_, _ = io.WriteString(w, recorded(t, "success"))
		case <-r.Context().Done():
		}
	})
}

func TestSilenceEndsInTime(t *testing.T) {
	t.Parallel()
	_, s := newHold(t)
	r := newRig(t, s, func(c *AnthropicConfig) { c.Timeout = 50 * time.Millisecond })
	_, err := r.Score(t.Context(), proposal())
	if !fault.Is(err, "scoring.timeout") || !fault.Retryable(err) || s.requests() != 1 || r.counted("scoring.calls")["timeout"] != 1 {
		t.Errorf("%v after %d requests", err, s.requests())
	}
}

// A stream that never pauses and never ends is no answer either.
func TestSlowStreamEndsInTime(t *testing.T) {
	t.Parallel()
	s := newService(t, func(w http.ResponseWriter, r *http.Request) {
		drip := time.NewTicker(5 * time.Millisecond)
		defer drip.Stop()
		for {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-drip.C:
			case <-r.Context().Done():
				return
			}
		}
	})
	r := newRig(t, s, func(c *AnthropicConfig) { c.Timeout = 100 * time.Millisecond })
	if _, err := r.Score(t.Context(), proposal()); !fault.Is(err, "scoring.timeout") {
		t.Errorf("%v", err)
	}
}

func TestCancellationEndsTheCallAtOnce(t *testing.T) {
	t.Parallel()
	h, s := newHold(t)
	r := newRig(t, s, func(c *AnthropicConfig) { c.Timeout = time.Hour })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-h.came
		cancel()
	}()
	_, err := r.Score(ctx, proposal())
	if !errors.Is(err, context.Canceled) || fault.As(err) != nil || r.counted("scoring.calls")["cancelled"] != 1 {
		t.Errorf("%v", err)
	}
	if _, err := r.Score(ctx, proposal()); !errors.Is(err, context.Canceled) || s.requests() != 1 {
		t.Errorf("a call that was over before it began: %v, %d requests", err, s.requests())
	}
}

func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	h, s := newHold(t)
	r := newRig(t, s, func(c *AnthropicConfig) { c.Concurrency, c.Timeout = 2, time.Hour })
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if _, err := r.Score(t.Context(), proposal()); err != nil {
				t.Error(err)
			}
		})
	}
	<-h.came
	<-h.came
	// Both slots are taken. The third waits, and stops waiting when its caller does.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Score(ctx, proposal()); !errors.Is(err, context.DeadlineExceeded) || s.requests() != 2 {
		t.Errorf("%v, %d requests", err, s.requests())
	}
	close(h.release)
	group.Wait()
	if _, err := r.Score(t.Context(), proposal()); err != nil {
		t.Errorf("after the others: %v", err)
	}
}
