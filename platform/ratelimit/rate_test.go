package ratelimit

import (
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
)

func TestRateIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rate{
		"100/s": PerSecond(100, 100), "100/s burst 200": PerSecond(100, 200), " 10/min  burst 20 ": PerMinute(10, 20),
		"200/h burst 1": {200, time.Hour, 1}, "off": {}, "1000000/s": PerSecond(1_000_000, 1_000_000),
	} {
		var got, again Rate
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
		if err := again.UnmarshalText([]byte(got.String())); err != nil || again != got {
			t.Errorf("%v is read as %v, %v", got, again, err)
		}
	}
	for _, text := range []string{
		"", "100", "/s", "0/s", "-1/s", "1.5/s", "1/day", "1/m", "100/s burst", "100/s burst 0", "100/s 200", "1000001/s", "burst 5", "off burst 1",
	} {
		if err := new(Rate).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a rate", text)
		}
	}
}

func TestRefusalSaysWhen(t *testing.T) {
	t.Parallel()
	e := fault.As(Refuse(1500 * time.Millisecond))
	if e == nil || e.Kind != fault.RateLimited || e.RetryAfter != 1500*time.Millisecond {
		t.Errorf("%+v", e)
	}
}

// No text makes a rate whose times overflow.
func FuzzRate(f *testing.F) {
	f.Add("100/s burst 200", "a")
	f.Add("off", "")
	f.Fuzz(func(t *testing.T, text, key string) {
		var r Rate
		if r.UnmarshalText([]byte(text)) != nil {
			return
		}
		l := New[string](Config{Rate: r})
		if l.Take(key) != 0 {
			t.Errorf("%q refuses the first event", text)
		}
		if wait := l.Wait(key); wait < 0 || wait > time.Hour {
			t.Errorf("%q: wait %v", text, wait)
		}
		if !strings.Contains(r.String(), "/") && !r.Unlimited() {
			t.Errorf("%q is %v", text, r)
		}
	})
}
