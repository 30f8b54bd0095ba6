package live

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"example.com/plenary/platform/later/channel"
)

// Stats is how a hub stands.
type Stats struct {
	Rooms, Clients int           // now, with those on their way in
	Joined         int64         // connections since the start
	Refused        int64         // of whom there were too many
	Slow           int64         // connections closed because their client did not keep up
	Broadcast      int64         // frames, each counted once however many clients it went to
	Changes        channel.Stats // of the channel between the transactions and the clients
}

// Stats returns how the hub stands.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	s := Stats{Rooms: len(h.rooms), Clients: h.places}
	h.mu.Unlock()
	s.Joined, s.Refused = h.count.joined.Load(), h.count.refused.Load()
	s.Slow, s.Broadcast = h.count.slow.Load(), h.count.broadcast.Load()
	s.Changes = h.changes.Stats()
	return s
}

func (h *Hub) measure(meter metric.Meter) error {
	if meter == nil {
		return nil
	}
	of := metric.WithAttributeSet(attribute.NewSet(attribute.String("hub", h.config.Name)))
	for name, value := range map[string]func(Stats) int64{
		"live.clients": func(s Stats) int64 { return int64(s.Clients) },
		"live.rooms":   func(s Stats) int64 { return int64(s.Rooms) },
	} {
		observe := func(_ context.Context, o metric.Int64Observer) error { o.Observe(value(h.Stats()), of); return nil }
		if _, err := meter.Int64ObservableGauge(name, metric.WithInt64Callback(observe)); err != nil {
			return fmt.Errorf("live: %w", err)
		}
	}
	counters := []struct {
		name, text string
		value      func(Stats) int64
	}{
		{"live.joined", "connections", func(s Stats) int64 { return s.Joined }},
		{"live.refused", "connections refused because there were too many", func(s Stats) int64 { return s.Refused }},
		{"live.slow", "connections closed because their client did not keep up", func(s Stats) int64 { return s.Slow }},
		{"live.broadcast", "frames, each counted once however many clients it went to", func(s Stats) int64 { return s.Broadcast }},
	}
	for _, k := range counters {
		observe := func(_ context.Context, o metric.Int64Observer) error { o.Observe(k.value(h.Stats()), of); return nil }
		if _, err := meter.Int64ObservableCounter(k.name, metric.WithDescription(k.text), metric.WithInt64Callback(observe)); err != nil {
			return fmt.Errorf("live: %w", err)
		}
	}
	return nil
}
