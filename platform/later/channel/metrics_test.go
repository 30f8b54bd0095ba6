package channel_test

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"example.com/plenary/platform/later/channel"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	r := newRig(t, 2, func(c *channel.Config[update]) {
		c.Meter = meters.Meter("test")
		c.Kind = func(u update) string { return fmt.Sprint("kind", u.n) }
	})
	for n := range 100 {
		r.Push(update{n: n})
	}
	r.push("100!", "101!", "102!")
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got, series := map[string]int64{}, map[string]int{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		var points []metricdata.DataPoint[int64]
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			points = data.DataPoints
		case metricdata.Gauge[int64]:
			points = data.DataPoints
		}
		for _, p := range points {
			if name, _ := p.Attributes.Value(attribute.Key("channel")); name.AsString() != "live" {
				t.Errorf("%s is of the channel %q", m.Name, name.AsString())
			}
			got[m.Name] += p.Value
		}
		series[m.Name] = len(points)
	}
	for name, want := range map[string]int64{
		"channel.capacity": 2, "channel.depth": 2, "channel.pushed": 103, "channel.dropped": 100,
		"channel.protected_dropped": 1, "channel.coalesced": 0, "channel.handled": 0, "channel.failed": 0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %d, want %d", name, v, want)
		}
	}
	if series["channel.dropped"] > 51 {
		t.Errorf("%d series: they grow with the items", series["channel.dropped"])
	}
}
