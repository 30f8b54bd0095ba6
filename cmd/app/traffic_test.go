package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// traffic is several clients that ask for one thing after the other, and what they are answered.
type traffic struct {
	mu       sync.Mutex
	statuses map[string]map[int]int // by what was asked
	wrong    []string
	declined []string // numbers of the orders that were confirmed to have failed
	slowest  time.Duration
	end      chan struct{}
	clients  sync.WaitGroup
}

func startTraffic(c client, clients int) *traffic {
	tr := &traffic{statuses: map[string]map[int]int{}, end: make(chan struct{})}
	requests := []struct {
		method, path string
		body         any
	}{
		{"GET", "/sales/products", nil},
		{"POST", "/sales/orders", orderOf(1, "tok_declined")},
		{"GET", "/auth/me", nil},
		{"GET", "/sales/orders?limit=2", nil},
	}
	for i := range clients {
		tr.clients.Go(func() {
			for n := i; ; n++ {
				select {
				case <-tr.end:
					return
				default:
				}
				ask := requests[n%len(requests)]
				began := time.Now()
				status, header, answer, err := c.try(ask.method, ask.path, ask.body)
				tr.note(ask.method+" "+ask.path, status, header, answer, err, time.Since(began))
			}
		})
	}
	return tr
}

func (tr *traffic) note(what string, status int, header http.Header, answer []byte, err error, took time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.slowest = max(tr.slowest, took)
	if tr.statuses[what] == nil {
		tr.statuses[what] = map[int]int{}
	}
	tr.statuses[what][status]++
	switch {
	case err != nil:
		tr.wrong = append(tr.wrong, fmt.Sprintf("%s: %v", what, err))
	case status == http.StatusServiceUnavailable && header.Get("Retry-After") != "" && header.Get("Content-Type") == "application/problem+json":
	case status == http.StatusOK:
	case status == http.StatusCreated:
		var o order
		if json.Unmarshal(answer, &o) == nil && o.Status == "payment_failed" {
			tr.declined = append(tr.declined, o.Number)
		}
	default:
		tr.wrong = append(tr.wrong, fmt.Sprintf("%s: %d %.300s", what, status, answer))
	}
}

// seen reports whether every kind of request was answered at least n times more than in before with a status below 300,
// or else with 503.
func (tr *traffic) seen(before map[string]map[int]int, ok bool, n int) bool {
	now := tr.copy()
	for what, statuses := range now {
		more := 0
		for status, count := range statuses {
			if (status < 300) == ok {
				more += count - before[what][status]
			}
		}
		if more < n {
			return false
		}
	}
	return len(now) == 4
}

func (tr *traffic) copy() map[string]map[int]int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	all := map[string]map[int]int{}
	for what, statuses := range tr.statuses {
		all[what] = maps.Clone(statuses)
	}
	return all
}

func (tr *traffic) stop(t *testing.T) {
	t.Helper()
	close(tr.end)
	tr.clients.Wait()
	t.Logf("answers: %v; the slowest after %v", tr.statuses, tr.slowest)
	slices.Sort(tr.wrong)
	if len(tr.wrong) > 0 {
		t.Errorf("%d wrong answers, such as:\n%s", len(tr.wrong), strings.Join(tr.wrong[:min(5, len(tr.wrong))], "\n"))
	}
}

// poll waits for something that no database can be asked about.
func poll(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for every := time.NewTicker(10 * time.Millisecond); !done(); {
		select {
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		case <-every.C:
		}
	}
}
