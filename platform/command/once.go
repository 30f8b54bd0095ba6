package command

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
)

// Key makes a request happen once, however often it is sent. Scope identifies the request: who asks for what,
// under which key. Body is what was asked, so that a key that is used again for something else is noticed.
type Key struct {
	Scope [sha256.Size]byte
	Body  [sha256.Size]byte
}

// Answer is what a request is answered with, and what a repeated request gets again.
type Answer struct {
	Status   int
	Location string
	ETag     string
	Body     []byte
}

// How long a repeated request waits for the first one, and how often it looks.
const (
	patience = 5 * time.Second
	glance   = 50 * time.Millisecond
)

// Once runs a command under a key. The first time, run goes through a door, and the answer that render makes of
// its result commits together with what it did. After that the stored answer is returned, and nothing runs.
// A run that failed, or died, before it stored an answer is taken up by the next request with the key; a
// handler that had begun something is told what; see [FirstTx].
//
// While the first request is still at work others wait, without a database connection, for up to five seconds,
// and then get a Conflict with RetryAfter ("idempotency_in_progress"). A key with another body is an Invalid
// fault with code "idempotency_key_reused".
//
// run must go through exactly one door, whose handler is transactional, or uses FirstTx and LastTx.
func Once[R any](ctx context.Context, key Key, render func(R) (Answer, error), run func(ctx context.Context) (R, error)) (answer Answer, replayed bool, err error) {
	until := time.Now().Add(patience)
	for {
		k := &keyed{Key: key, owner: uuid.New(), render: func(result any) (Answer, error) {
			value, ok := result.(R)
			if !ok {
				return Answer{}, fault.New(fault.Internal, "idempotency", "the answer is made for another door than the one that ran")
			}
			return render(value)
		}}
		_, err := run(context.WithValue(ctx, keyedKey{}, k))
		switch {
		case k.replay != nil:
			return *k.replay, true, nil
		case errors.Is(err, errInProgress) && time.Now().Before(until):
			if err := nap(ctx, glance); err != nil {
				return Answer{}, false, err
			}
		case err != nil:
			return Answer{}, false, err
		case k.answer == nil:
			return Answer{}, false, fault.New(fault.Internal, "idempotency", "the door that ran does not keep idempotency keys")
		default:
			return *k.answer, false, nil
		}
	}
}

func nap(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keyed is a key on its way through one run.
type keyed struct {
	Key
	owner    uuid.UUID
	render   func(result any) (Answer, error)
	resource string  // what an earlier run of the request began
	resumed  bool    // there was an earlier run
	answer   *Answer // stored by this run
	replay   *Answer // stored by an earlier one
	lease    time.Duration
}

type keyedKey struct{}

// takeKey returns the key of ctx, and ctx without it: it is meant for the first door and no other.
func takeKey(ctx context.Context) (*keyed, context.Context) {
	k, _ := ctx.Value(keyedKey{}).(*keyed)
	if k == nil {
		return nil, ctx
	}
	return k, context.WithValue(ctx, keyedKey{}, (*keyed)(nil))
}

var errInProgress error = &fault.Error{
	Kind: fault.Conflict, Code: "idempotency_in_progress",
	Message: "the first request with this key is still at work", RetryAfter: 2 * time.Second,
}

// errReused is for the edge to turn into its status: the key itself is fine, and so is the request.
var errReused error = fault.New(fault.Invalid, "idempotency_key_reused", "the key was used for another request")

// errKeyLost ends a run that was so slow that another one took its request up.
var errKeyLost error = fault.New(fault.Unavailable, "idempotency_lost", "another request with the key has taken over")
