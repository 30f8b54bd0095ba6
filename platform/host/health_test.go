package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/host"
)

func ask(t *testing.T, h *host.Host, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestReadyFromTheLastStartToTheFirstStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		open, closed := make(chan struct{}), make(chan struct{})
		slow := host.Component{
			Name:  "slow",
			Start: func(context.Context) error { <-open; return nil },
			Stop:  func(context.Context) error { <-closed; return nil },
			Ready: func(context.Context) error { d.note("ask"); return nil },
		}
		h := run(t, quiet(), d.noting("a"), slow)
		expect := func(when string, wantStatus int, want string) {
			t.Helper()
			synctest.Wait()
			if status, body := ask(t, h.Host, "/readyz"); status != wantStatus || body != want {
				t.Errorf("%s: %d %s\nwant %d %s", when, status, body, wantStatus, want)
			}
		}
		expect("starting", 503, `{"status":"unavailable","checks":[{"name":"host","ok":false,"error":"starting"},`+
			`{"name":"a","ok":true},{"name":"slow","ok":false,"error":"not_started"}]}`)
		synctest.Wait()
		if lines := d.read(); len(lines) != 1 {
			t.Errorf("%q: it was asked before it had started", lines)
		}
		close(open)
		expect("working", 200, `{"status":"ok","checks":[{"name":"host","ok":true},{"name":"a","ok":true},{"name":"slow","ok":true}]}`)
		h.stop()
		expect("stopping", 503, `{"status":"unavailable","checks":[{"name":"host","ok":false,"error":"stopping"},`+
			`{"name":"a","ok":true},{"name":"slow","ok":false,"error":"not_running"}]}`)
		if status, body := ask(t, h.Host, "/healthz"); status != 200 || body != `{"status":"ok"}` {
			t.Errorf("alive while stopping: %d %s", status, body)
		}
		close(closed)
		if err := <-h.result; err != nil {
			t.Error(err)
		}
		if status, _ := ask(t, h.Host, "/healthz"); status != 503 || h.Live() {
			t.Errorf("alive when stopped: %d", status)
		}
	})
}

func TestReadyzSaysWhatIsWrongInChosenWords(t *testing.T) {
	t.Parallel()
	secrets := errors.New(`dial /var/lib/postgresql: password "hunter2": SELECT * FROM users`)
	cases := map[string]error{
		"internal":             secrets,
		"postgres.unreachable": fmt.Errorf("ping: %w", fault.Wrap(secrets, fault.Unavailable, "postgres.unreachable", "x")),
		"unavailable":          fault.Wrap(secrets, fault.Unavailable, "", "x"),
		"timeout":              fmt.Errorf("%w: %w", secrets, context.DeadlineExceeded),
	}
	for want, err := range cases {
		synctest.Test(t, func(t *testing.T) {
			h := run(t, quiet(), host.Component{Name: "database", Ready: func(context.Context) error { return err }})
			status, body := ask(t, h.Host, "/readyz")
			if status != 503 || !strings.Contains(body, `{"name":"database","ok":false,"error":"`+want+`"}`) {
				t.Errorf("%v: %d %s", err, status, body)
			}
			h.stop()
			<-h.result
		})
	}
}

func TestPanicInACheckIsNotReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := run(t, quiet(), host.Component{Name: "a", Ready: func(context.Context) error { panic("boom") }})
		want := host.Check{Name: "a", Error: "internal"}
		if got := h.Ready(t.Context())[1]; got != want {
			t.Errorf("got %+v", got)
		}
		h.stop()
		<-h.result
	})
}

func TestComponentsAreAskedOnceASecondAndFailuresLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked int
		var away error
		var log bytes.Buffer
		h := run(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))},
			host.Component{Name: "database", Ready: func(context.Context) error { asked++; return away }})
		askFor := func(d time.Duration) {
			for range 10 {
				h.Ready(t.Context())
				time.Sleep(d / 10) // the bubble's clock, not ours
			}
		}
		askFor(time.Second)
		if asked != 1 {
			t.Errorf("asked %d times in a second", asked)
		}
		away = errors.New("away: no route")
		askFor(5 * time.Second)
		away = nil
		askFor(5 * time.Second)
		if asked != 11 {
			t.Errorf("asked %d times in eleven seconds", asked)
		}
		for _, want := range []string{`msg="not ready" component=database error="away: no route"`, `msg="ready again"`} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("%d lines of %s in\n%s", n, want, log.String())
			}
		}
		h.stop()
		<-h.result
	})
}

func TestHangingCheckTimesOutAloneAndDoesNotPileUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		release := make(chan struct{})
		h := run(t, quiet(), host.Component{Name: "database", Ready: func(context.Context) error {
			asked.Add(1)
			<-release
			return errors.New("so late that it does not matter")
		}}, host.Component{Name: "z", Ready: func(context.Context) error { return nil }})
		for range 20 {
			begin := time.Now()
			want := []host.Check{{Name: "host", OK: true}, {Name: "database", Error: "timeout"}, {Name: "z", OK: true}}
			if diff := cmp.Diff(want, h.Ready(t.Context())); diff != "" {
				t.Error(diff)
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("the answer took %v", took)
			}
			time.Sleep(time.Second) // the bubble's clock
		}
		if asked.Load() != 1 {
			t.Errorf("%d checks hang", asked.Load())
		}
		close(release)
		h.stop()
		<-h.result
	})
}

func TestLateAnswerIsNotTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := true
		h := run(t, quiet(), host.Component{Name: "database", Ready: func(ctx context.Context) error {
			if hangs {
				hangs = false
				<-ctx.Done()
				time.Sleep(time.Millisecond) // the bubble's clock: just after the answer was given up
				return ctx.Err()
			}
			return nil
		}})
		if got := h.Ready(t.Context())[1]; got.Error != "timeout" {
			t.Errorf("got %+v", got)
		}
		time.Sleep(time.Second)
		if got := h.Ready(t.Context())[1]; !got.OK {
			t.Errorf("it has recovered, yet %+v", got)
		}
		h.stop()
		<-h.result
	})
}

func TestCallerWhoLeavesDoesNotSpoilTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := run(t, quiet(), host.Component{Name: "a", Ready: func(ctx context.Context) error { return ctx.Err() }})
		gone, leave := context.WithCancel(t.Context())
		leave()
		h.Ready(gone)
		if got := h.Ready(t.Context())[1]; !got.OK {
			t.Errorf("got %+v", got)
		}
		h.stop()
		<-h.result
	})
}

func TestFailedComponentIsNotRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := run(t, quiet(),
			host.Component{Name: "broken", Run: func(context.Context) error { return errors.New("boom") }},
			host.Component{Name: "slow", Stop: func(context.Context) error { <-release; return nil }})
		want := host.Check{Name: "broken", Error: "not_running"}
		if got := h.Ready(t.Context())[1]; got != want {
			t.Errorf("got %+v", got)
		}
		close(release)
		<-h.result
	})
}

func TestHandlerIsForReadingAndNotForCaching(t *testing.T) {
	t.Parallel()
	h := host.New(quiet())
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/version", nil))
	var build host.Build
	if err := json.Unmarshal(w.Body.Bytes(), &build); err != nil || build != host.Version() || build.Version == "" {
		t.Errorf("/version: %v, %+v", err, build)
	}
	if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", w.Header())
	}
	w = httptest.NewRecorder()
	h.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/readyz", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST /readyz: %d", w.Code)
	}
}
