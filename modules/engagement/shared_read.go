package engagement

import (
	"context"
	"errors"
	"sync"
	"time"
)

// sharedReads lets callers that want the same thing at the same time read it together. What a caller gets was read after
// it asked, never before: whoever has just voted sees that vote. There are at most two reads of a key under way,
// one at work and one that waits to begin, however many ask. Callers must not change what they share.
type sharedReads[K comparable, V any] struct {
	load    func(ctx context.Context, key K) (V, error)
	timeout time.Duration

	mu    sync.Mutex
	lanes map[K]*lane[V]
}

// lane is the reads of one key.
type lane[V any] struct {
	running, next *reading[V]
}

type reading[V any] struct {
	done  chan struct{}
	value V
	err   error
}

var errReadLost = errors.New("the read that was shared did not end")

func newReading[V any]() *reading[V] {
	return &reading[V]{done: make(chan struct{}), err: errReadLost}
}

func newSharedReads[K comparable, V any](timeout time.Duration, load func(ctx context.Context, key K) (V, error)) *sharedReads[K, V] {
	return &sharedReads[K, V]{load: load, timeout: timeout, lanes: map[K]*lane[V]{}}
}

func (s *sharedReads[K, V]) read(ctx context.Context, key K) (V, error) {
	s.mu.Lock()
	l := s.lanes[key]
	switch {
	case l == nil:
		r := newReading[V]()
		s.lanes[key] = &lane[V]{running: r}
		s.mu.Unlock()
		s.lead(ctx, key, r)
		return r.value, r.err
	case l.next == nil:
		r, before := newReading[V](), l.running
		l.next = r
		s.mu.Unlock()
		<-before.done // not ctx: others may wait for this caller by now; a read is bounded
		s.lead(ctx, key, r)
		return r.value, r.err
	default:
		r := l.next
		s.mu.Unlock()
		select {
		case <-r.done:
			return r.value, r.err
		case <-ctx.Done():
			var none V
			return none, context.Cause(ctx)
		}
	}
}

// lead reads for all who wait for r, even if the caller goes away meanwhile.
func (s *sharedReads[K, V]) lead(ctx context.Context, key K, r *reading[V]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	defer s.pass(key, r) // also if load panics
	r.value, r.err = s.load(ctx, key)
}

// pass makes room for the next read.
func (s *sharedReads[K, V]) pass(key K, r *reading[V]) {
	s.mu.Lock()
	l := s.lanes[key]
	if l.running, l.next = l.next, nil; l.running == nil {
		delete(s.lanes, key)
	}
	s.mu.Unlock()
	close(r.done)
}
