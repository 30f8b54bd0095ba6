package lease_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"example.com/plenary/platform/later/lease"
)

func Example() {
	retry := lease.Retry{MaxAttempts: 5, Base: 10 * time.Second, Max: time.Minute}
	for attempts := 1; attempts <= 4; attempts++ {
		pause := retry.Pause(attempts)
		fmt.Println(attempts, pause.Round(5*time.Second) > 0, pause <= 72*time.Second)
	}
	// Output:
	// 1 true true
	// 2 true true
	// 3 true true
	// 4 true true
}

func TestPauseGrowsToItsCapAndNeverOverflows(t *testing.T) {
	t.Parallel()
	for _, retry := range []lease.Retry{
		{Base: 10 * time.Second, Max: 10 * time.Minute},
		{Base: time.Second, Max: math.MaxInt64 / 2},
		{Base: time.Hour, Max: time.Minute},
		{},
	} {
		r := retry.WithDefaults()
		floor := time.Duration(0)
		for _, attempts := range []int{1, 2, 3, 5, 17, 30, 37, 63, 64, 65, 1000} {
			longest := float64(min(r.Base, r.Max)) * math.Pow(2, float64(attempts-1))
			nominal := time.Duration(min(longest, float64(r.Max)))
			for range 50 {
				pause := retry.Pause(attempts)
				if pause <= 0 || pause < floor-floor/5 || float64(pause) > 1.2*float64(r.Max)+1 {
					t.Fatalf("%+v: pause %v after %d attempts", r, pause, attempts)
				}
				if low := float64(nominal) * 0.79; float64(pause) < low {
					t.Fatalf("%+v: pause %v after %d attempts, below %v", r, pause, attempts, time.Duration(low))
				}
			}
			floor = nominal
		}
	}
}

func TestWhatFailsTogetherDoesNotComeBackTogether(t *testing.T) {
	t.Parallel()
	retry := lease.Retry{Base: time.Minute, Max: time.Minute}
	seen := map[time.Duration]bool{}
	for range 20 {
		seen[retry.Pause(9)] = true
	}
	if len(seen) < 10 {
		t.Errorf("only %d different pauses at the cap", len(seen))
	}
}
