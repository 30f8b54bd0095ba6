package scoring

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const testKey = "sk-test-0123456789"

// service speaks as much of the API as a scorer hears.
type service struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
}

func newService(t *testing.T, answer http.HandlerFunc) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies, s.heads = append(s.bodies, r.Method+" "+r.URL.Path+"\n"+string(body)), append(s.heads, r.Header)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("request-id", "req_011CSHoEeqs5C35K2UUqR7Fy")
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rig is a scorer, and all that it lets out.
type rig struct {
	Scorer
	t      *testing.T
	log    *lockedBuffer
	reader *sdkmetric.ManualReader
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newRig(t *testing.T, s *service, change ...func(*AnthropicConfig)) *rig {
	t.Helper()
	r := &rig{t: t, log: &lockedBuffer{}, reader: sdkmetric.NewManualReader()}
	cfg := AnthropicConfig{
		APIKey: testKey, BaseURL: s.URL, HTTPClient: s.Client(),
		Meter:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader)).Meter("scoring"),
		Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if r.Scorer, err = NewAnthropic(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

// counted returns the counters' values by their only label.
func (r *rig) counted(name string) map[string]int64 {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(r.t.Context(), &all); err != nil {
		r.t.Fatal(err)
	}
	values := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					values[p.Attributes.ToSlice()[0].Value.AsString()] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					values[p.Attributes.ToSlice()[0].Value.AsString()] = int64(p.Count)
				}
			}
		}
	}
	return values
}
