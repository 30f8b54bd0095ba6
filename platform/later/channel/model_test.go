package channel_test

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// model is what a channel promises, done the slow and obvious way.
type model struct {
	capacity  int
	items     []update
	coalesced int64
	dropped   int64
	lost      []update
}

func (m *model) push(u update) {
	same := func(w update) bool { return u.key != "" && w.key == u.key && w.final == u.final }
	if i := slices.IndexFunc(m.items, same); i >= 0 {
		m.items[i] = u
		m.coalesced++
		return
	}
	m.items = append(m.items, u)
	if len(m.items) <= m.capacity {
		return
	}
	if i := slices.IndexFunc(m.items, func(w update) bool { return !w.final }); i >= 0 {
		m.items = slices.Delete(m.items, i, i+1)
		m.dropped++
		return
	}
	m.lost = append(m.lost, m.items[0])
	m.items = m.items[1:]
}

func (m *model) take() (u update, ok bool) {
	if len(m.items) == 0 {
		return u, false
	}
	u, m.items = m.items[0], m.items[1:]
	return u, true
}

func TestBehavesLikeItsModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		capacity := 1 + random.IntN(9)
		keys, finals, takes := 1+random.IntN(2*capacity), random.Float64(), random.Float64()
		r, m := newRig(t, capacity), &model{capacity: capacity}
		for n := range 500 {
			if random.Float64() < takes {
				got, ok := r.Take()
				want, wantOK := m.take()
				if got != want || ok != wantOK {
					t.Fatalf("seed %d, step %d: took %+v, want %+v", seed, n, got, want)
				}
				continue
			}
			u := update{n: n, final: random.Float64() < finals}
			if k := random.IntN(2 * keys); k < keys {
				u.key = string(rune('a' + k))
			}
			r.Push(u)
			m.push(u)
		}
		s := r.Stats()
		if s.Depth != len(m.items) || s.Coalesced != m.coalesced || s.Dropped != m.dropped || !slices.Equal(r.lost, m.lost) {
			t.Fatalf("seed %d: %+v, lost %v; want %+v", seed, s, r.lost, m)
		}
		for range m.capacity + 1 {
			got, _ := r.Take()
			if want, _ := m.take(); got != want {
				t.Fatalf("seed %d: took %+v at last, want %+v", seed, got, want)
			}
		}
	}
}
