package channel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// maxKinds bounds the series of a channel whose Kind returns more than a few constants.
const maxKinds = 50

// losses counts the lost items of one kind.
type losses struct{ ordinary, protected int64 }

// countLoss adds one lost item of a kind. It is called with mu held.
func (c *DropOldest[T]) countLoss(kind string, isProtected bool) {
	l := c.kinds[kind]
	if l == nil {
		if len(c.kinds) >= maxKinds {
			kind = "other"
		}
		if l = c.kinds[kind]; l == nil {
			l = &losses{}
			c.kinds[kind] = l
		}
	}
	if isProtected {
		l.protected++
		c.count.ProtectedDropped++
	} else {
		l.ordinary++
		c.count.Dropped++
	}
}

// losses returns a copy, so that no producer waits while a meter reads.
func (c *DropOldest[T]) losses() map[string]losses {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]losses, len(c.kinds))
	for kind, l := range c.kinds {
		all[kind] = *l
	}
	return all
}

// measure lets the meter ask for the counts when it wants them: a push that reported each one would allocate.
func (c *DropOldest[T]) measure(meter metric.Meter) error {
	if meter == nil {
		return nil
	}
	of := metric.WithAttributeSet(attribute.NewSet(attribute.String("channel", c.config.Name)))
	gauges := []struct {
		name, text string
		value      func(Stats) int
	}{
		{"channel.capacity", "the most items that wait", func(s Stats) int { return s.Capacity }},
		{"channel.depth", "items that wait", func(s Stats) int { return s.Depth }},
	}
	for _, g := range gauges {
		observe := func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(g.value(c.Stats())), of)
			return nil
		}
		if _, err := meter.Int64ObservableGauge(g.name, metric.WithDescription(g.text), metric.WithInt64Callback(observe)); err != nil {
			return err
		}
	}
	counters := []struct {
		name, text string
		value      func(Stats) int64
	}{
		{"channel.pushed", "items that came", func(s Stats) int64 { return s.Pushed }},
		{"channel.coalesced", "items that a newer one replaced", func(s Stats) int64 { return s.Coalesced }},
		{"channel.handled", "items whose handling went well", func(s Stats) int64 { return s.Handled }},
		{"channel.failed", "items dropped because their handling failed", func(s Stats) int64 { return s.Failed }},
	}
	for _, k := range counters {
		observe := func(_ context.Context, o metric.Int64Observer) error { o.Observe(k.value(c.Stats()), of); return nil }
		if _, err := meter.Int64ObservableCounter(k.name, metric.WithDescription(k.text), metric.WithInt64Callback(observe)); err != nil {
			return err
		}
	}
	return c.measureLosses(meter)
}

func (c *DropOldest[T]) measureLosses(meter metric.Meter) error {
	counters := []struct {
		name, text string
		value      func(losses) int64
	}{
		{"channel.dropped", "items lost for want of room", func(l losses) int64 { return l.ordinary }},
		{"channel.protected_dropped", "protected items lost for want of room", func(l losses) int64 { return l.protected }},
	}
	for _, k := range counters {
		observe := func(_ context.Context, o metric.Int64Observer) error {
			for kind, l := range c.losses() {
				o.Observe(k.value(l), metric.WithAttributes(attribute.String("channel", c.config.Name), attribute.String("kind", kind)))
			}
			return nil
		}
		if _, err := meter.Int64ObservableCounter(k.name, metric.WithDescription(k.text), metric.WithInt64Callback(observe)); err != nil {
			return err
		}
	}
	return nil
}
