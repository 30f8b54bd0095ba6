package live

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"example.com/plenary/platform/wake"
)

// Exchange carries hints between replicas: that a room has reached a version, never what it holds. Hints may be
// lost, doubled and out of order. It is safe for concurrent use.
type Exchange interface {
	// Send tells the other replicas. It must not wait for anything and cannot fail.
	Send(room string, version int64)
	// Subscribe has fn called with each hint of another replica, and with an empty room if hints may have been lost.
	// fn returns at once. It is called once, before the first hint.
	Subscribe(fn func(room string, version int64))
}

// OverBus returns an Exchange that uses a topic of bus, and with it PostgreSQL's NOTIFY.
func OverBus(bus *wake.Bus, topic string) Exchange {
	return &busExchange{bus: bus, topic: topic, self: rand.Text()[:8]}
}

// busExchange sends "replica version room". A bus also tells the sender's own process, which knows already.
type busExchange struct {
	bus         *wake.Bus
	topic, self string
}

func (x *busExchange) Send(room string, version int64) {
	x.bus.Send(x.topic, fmt.Sprintf("%s %d %s", x.self, version, room))
}

func (x *busExchange) Subscribe(fn func(room string, version int64)) {
	x.bus.Subscribe(x.topic, func(key string) {
		if key == "" {
			fn("", 0)
			return
		}
		replica, rest, _ := strings.Cut(key, " ")
		text, room, ok := strings.Cut(rest, " ")
		version, err := strconv.ParseInt(text, 10, 64)
		if ok && err == nil && replica != x.self && room != "" {
			fn(room, version)
		}
	})
}

// alone is the exchange of a program that has one replica.
type alone struct{}

func (alone) Send(string, int64)            {}
func (alone) Subscribe(func(string, int64)) {}
