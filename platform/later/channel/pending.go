package channel

import "hash/maphash"

// none is the index of no slot.
const none = int32(-1)

// The two queues of pending items. Whatever leaves, leaves at the front of its queue.
const (
	ordinary = iota
	protected
)

// entry is an item with what the configuration says about it.
type entry[T any] struct {
	item             T
	kind, key        string
	keyed, protected bool
}

func (e *entry[T]) queue() int {
	if e.protected {
		return protected
	}
	return ordinary
}

// slot holds a pending entry and its links, which are indexes of other slots.
type slot[T any] struct {
	entry[T]
	arrival uint64
	behind  int32 // the next slot of its queue, or the next free one
	bucket  int32
	chained int32 // the next slot of the bucket
}

// pending holds what waits. Its slots, queues and hash table are linked lists inside memory that is made once,
// so that adding, finding and removing take the same few steps however full it is, and allocate nothing. (A Go
// map that is written and deleted from for long does allocate.) It is not safe for concurrent use.
type pending[T any] struct {
	slots    []slot[T]
	free     int32
	queues   [2]struct{ first, last int32 } // in the order of arrival
	buckets  []int32
	seed     maphash.Seed
	depth    int
	arrivals uint64
}

func newPending[T any](capacity int) pending[T] {
	size := 1
	for size < 2*capacity {
		size *= 2
	}
	p := pending[T]{slots: make([]slot[T], capacity), buckets: make([]int32, size), seed: maphash.MakeSeed()}
	for i := range p.slots {
		p.slots[i].behind = int32(i) + 1
	}
	p.slots[capacity-1].behind = none
	for i := range p.buckets {
		p.buckets[i] = none
	}
	for i := range p.queues {
		p.queues[i].first, p.queues[i].last = none, none
	}
	return p
}

func (p *pending[T]) bucketOf(key string) int32 {
	return int32(maphash.String(p.seed, key) & uint64(len(p.buckets)-1))
}

// find returns the slot of the entry that e could replace, or none.
func (p *pending[T]) find(e *entry[T]) int32 {
	if !e.keyed {
		return none
	}
	at := p.buckets[p.bucketOf(e.key)]
	for at != none && (p.slots[at].key != e.key || p.slots[at].protected != e.protected) {
		at = p.slots[at].chained
	}
	return at
}

// add appends e, for which there must be room.
func (p *pending[T]) add(e *entry[T]) {
	at := p.free
	s := &p.slots[at]
	p.free = s.behind
	p.depth++
	p.arrivals++

	q := &p.queues[e.queue()]
	s.entry, s.arrival, s.behind = *e, p.arrivals, none
	if q.last == none {
		q.first = at
	} else {
		p.slots[q.last].behind = at
	}
	q.last = at

	if e.keyed {
		s.bucket = p.bucketOf(e.key)
		s.chained, p.buckets[s.bucket] = p.buckets[s.bucket], at
	}
}

// next returns the queue whose front came first, or false if nothing is pending.
func (p *pending[T]) next() (queue int, ok bool) {
	a, b := p.queues[ordinary].first, p.queues[protected].first
	if a == none || b != none && p.slots[b].arrival < p.slots[a].arrival {
		return protected, b != none
	}
	return ordinary, true
}

// remove moves the front of a queue, which must have one, to e. The slot then keeps nothing alive.
func (p *pending[T]) remove(queue int, e *entry[T]) {
	q := &p.queues[queue]
	at := q.first
	s := &p.slots[at]
	q.first = s.behind
	if q.first == none {
		q.last = none
	}
	if s.keyed {
		link := &p.buckets[s.bucket]
		for *link != at {
			link = &p.slots[*link].chained
		}
		*link = s.chained
	}
	*e, s.entry = s.entry, entry[T]{}
	s.behind, p.free = p.free, at
	p.depth--
}
