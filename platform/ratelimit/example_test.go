package ratelimit_test

import (
	"fmt"
	"time"

	"example.com/plenary/platform/ratelimit"
)

func ExampleLimiter() {
	now := time.Now()
	requests := ratelimit.New[string](ratelimit.Config{Rate: ratelimit.PerSecond(10, 2), Now: func() time.Time { return now }})
	fmt.Println(requests.Take("alice"), requests.Take("alice"), requests.Take("alice"), requests.Take("bob"))
	now = now.Add(100 * time.Millisecond)
	fmt.Println(requests.Take("alice"))
	// Output:
	// 0s 0s 100ms 0s
	// 0s
}

func ExampleLockout() {
	now := time.Now()
	guesses := ratelimit.NewLockout[string](ratelimit.LockoutConfig{
		Backoff: ratelimit.Backoff{Free: 1, First: time.Second, Most: time.Minute, Window: time.Hour},
		Now:     func() time.Time { return now },
	})
	for range 4 {
		wait := guesses.Begin("alice")
		fmt.Print(wait, " ")
		now = now.Add(wait)
		guesses.Fail("alice")
	}
	fmt.Println(guesses.Begin("alice"), guesses.Begin("bob"))
	// Output: 0s 0s 1s 2s 4s 0s
}
