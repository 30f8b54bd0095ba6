package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"example.com/plenary/platform/fault"
)

const (
	probeEvery   = time.Second
	probeTimeout = 2 * time.Second
)

// Check says whether one part of the program can do its work. Error is a stable word, never an error's text.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// probes remembers what the components said last.
type probes struct {
	mu     sync.Mutex // guards the rest, and the units' fields that probe owns
	at     time.Time
	in     int32 // the state of the host then
	checks []Check
}

// Live reports whether the host has not stopped yet.
func (h *Host) Live() bool { return h.state.Load() != stopped }

// Ready returns whether the program as a whole can work, in the check named "host", followed by one check for
// each component. The program is ready if all are OK. Components are asked at most once a second; whether the
// program starts, works or stops is seen at once.
func (h *Host) Ready(ctx context.Context) []Check {
	whole, state := Check{Name: "host"}, h.state.Load()
	switch state {
	case fresh, starting:
		whole.Error = "starting"
	case ready:
		whole.OK = true
	default:
		whole.Error = "stopping"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.checks == nil || h.in != state || time.Since(h.at) >= probeEvery {
		h.checks, h.in, h.at = h.probe(ctx), state, time.Now()
	}
	return append([]Check{whole}, h.checks...)
}

// probe asks all components at once. The answers serve later callers too, so this caller's end is not theirs.
func (h *Host) probe(ctx context.Context) []Check {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	for _, u := range h.units {
		select {
		case <-u.asked: // an answer that came too late, to a question of some time ago
			u.asked = nil
		default:
		}
		// One that still owes an answer is not asked again: hanging checks must not pile up.
		if u.asked == nil && u.Component.Ready != nil && u.phase.Load() == working {
			u.asked = call(ctx, u.Component.Ready)
		}
	}
	checks := make([]Check, len(h.units))
	for i, u := range h.units {
		err := u.answer(ctx)
		checks[i] = Check{Name: u.Name, OK: err == nil, Error: word(err)}
		if notReady := err != nil && u.phase.Load() == working; notReady != u.notReady {
			u.notReady = notReady
			h.logReadiness(ctx, u.Name, err)
		}
	}
	return checks
}

var (
	errWaiting = fault.New(fault.Unavailable, "not_started", "it has not started")
	errEnded   = fault.New(fault.Unavailable, "not_running", "it does not run any more")
)

func (u *unit) answer(ctx context.Context) error {
	switch {
	case u.phase.Load() == waiting:
		return errWaiting
	case u.phase.Load() == ended:
		return errEnded
	case u.asked == nil:
		return nil
	}
	var err error
	select {
	case err = <-u.asked:
	case <-ctx.Done():
		if len(u.asked) == 0 {
			return ctx.Err()
		}
		err = <-u.asked // it was in time, and only had to wait for another's
	}
	u.asked = nil
	return err
}

func (h *Host) logReadiness(ctx context.Context, component string, err error) {
	if err != nil {
		h.cfg.Logger.WarnContext(ctx, "not ready", "component", component, "error", err)
		return
	}
	h.cfg.Logger.InfoContext(ctx, "ready again", "component", component)
}

// word says in a chosen word what kind of failure err is. Its text may contain SQL, paths or secrets.
func word(err error) string {
	known := fault.As(err)
	switch {
	case err == nil:
		return ""
	case known != nil && known.Code != "":
		return known.Code
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	default:
		return fault.KindOf(err).String()
	}
}

// Handler serves GET /healthz, /readyz and /version as JSON. /readyz is 503 unless the program is ready:
// {"status": "ok" or "unavailable", "checks": [{"name", "ok", "error"}]}.
func (h *Host) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeHealth(w, h.Live(), nil)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		checks, ok := h.Ready(r.Context()), true
		for _, check := range checks {
			ok = ok && check.OK
		}
		writeHealth(w, ok, checks)
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, Version())
	})
	return mux
}

func writeHealth(w http.ResponseWriter, ok bool, checks []Check) {
	status, text := http.StatusOK, "ok"
	if !ok {
		status, text = http.StatusServiceUnavailable, "unavailable"
	}
	writeJSON(w, status, struct {
		Status string  `json:"status"`
		Checks []Check `json:"checks,omitempty"`
	}{text, checks})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the caller has gone
}
