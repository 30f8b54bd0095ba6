package command_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

type book struct{ Room int }

func (book) Policy() command.Policy { return command.Policy{Name: "test.book"} }

type phone struct{ Guest int }

func (phone) Policy() command.Policy { return command.Policy{Name: "test.phone"} }

func keyFor(scope, body string) command.Key {
	return command.Key{Scope: sha256.Sum256([]byte(scope)), Body: sha256.Sum256([]byte(body))}
}

func text(result string) (command.Answer, error) {
	return command.Answer{Status: 201, Location: "/there", ETag: `"1"`, Body: []byte(result)}, nil
}

func TestTransactionalCommandHappensOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var runs atomic.Int32
	door := command.HandleResult(r.pipeline, r.source, func(ctx context.Context, tx *postgres.Tx, b book) (string, error) {
		return fmt.Sprint("booking ", runs.Add(1)), store(ctx, tx, greet{Name: "book"})
	})
	ask := func(key command.Key) (command.Answer, bool, error) {
		return command.Once(r.allowed, key, text, func(ctx context.Context) (string, error) { return door(ctx, book{7}) })
	}
	var group sync.WaitGroup
	var fresh atomic.Int32
	for range 20 {
		group.Go(func() {
			answer, replayed, err := ask(keyFor("k", "room 7"))
			if err != nil || string(answer.Body) != "booking 1" || answer.Status != 201 || answer.Location != "/there" || answer.ETag != `"1"` {
				t.Errorf("%+v, %v", answer, err)
			}
			if !replayed {
				fresh.Add(1)
			}
		})
	}
	group.Wait()
	if runs.Load() != 1 || fresh.Load() != 1 || r.greetings(t) != 1 {
		t.Errorf("%d runs, %d fresh answers, %d effects", runs.Load(), fresh.Load(), r.greetings(t))
	}
	if _, _, err := ask(keyFor("k", "room 8")); !fault.Is(err, "idempotency_key_reused") {
		t.Errorf("another body: %v", err)
	}
	if answer, _, err := ask(keyFor("another", "room 7")); err != nil || string(answer.Body) != "booking 2" {
		t.Errorf("another key: %s, %v", answer.Body, err)
	}
	// A day later the key is forgotten.
	postgrestest.Exec(t, r.source, `UPDATE platform.idempotency_keys SET created_on = created_on - interval '25 hours'`)
	if answer, replayed, err := ask(keyFor("k", "room 8")); err != nil || replayed || string(answer.Body) != "booking 3" {
		t.Errorf("a day later: %s, %v", answer.Body, err)
	}
}

func TestFailedRunLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	fail := true
	door := command.HandleResult(r.pipeline, r.source, func(ctx context.Context, tx *postgres.Tx, _ book) (string, error) {
		if fail {
			return "", errors.New("boom")
		}
		return "booked", nil
	})
	ask := func() error {
		_, _, err := command.Once(r.allowed, keyFor("k", ""), text, func(ctx context.Context) (string, error) { return door(ctx, book{}) })
		return err
	}
	if ask() == nil {
		t.Error("no error")
	}
	fail = false
	if err := ask(); err != nil {
		t.Error(err)
	}
}

// The handler begins, fails in between, and is asked again: it goes on with what it has begun.
func TestOutsideCommandIsResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var begun, calls int
	line := errors.New("the line is busy")
	busy := line
	door := command.HandleOutsideResult(r.pipeline, r.source, func(ctx context.Context, p phone) (string, error) {
		name, resumed := command.Resumed(ctx)
		if !resumed {
			err := command.FirstTx(ctx, r.source, func(ctx context.Context, tx *postgres.Tx) (string, error) {
				begun++
				name = "call to the first guest"
				return name, store(ctx, tx, greet{Name: name})
			})
			if err != nil {
				return "", err
			}
		}
		calls++
		if busy != nil {
			return "", busy
		}
		return command.LastTx(ctx, r.source, func(ctx context.Context, tx *postgres.Tx) (string, error) { return name + " made", nil })
	})
	ask := func() (command.Answer, bool, error) {
		return command.Once(r.allowed, keyFor("k", ""), text, func(ctx context.Context) (string, error) { return door(ctx, phone{1}) })
	}
	if _, _, err := ask(); !errors.Is(err, line) {
		t.Errorf("err = %v", err)
	}
	busy = nil
	for i, want := range []bool{false, true} {
		answer, replayed, err := ask()
		if err != nil || replayed != want || string(answer.Body) != "call to the first guest made" {
			t.Errorf("%d: %s, replayed %v, %v", i, answer.Body, replayed, err)
		}
	}
	if begun != 1 || calls != 2 || r.greetings(t) != 1 {
		t.Errorf("begun %d times, called %d times, %d effects", begun, calls, r.greetings(t))
	}
}

// A run that was so slow that its request was taken up by another one must not answer any more.
func TestSlowRunLosesItsKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	door := command.HandleOutsideResult(r.pipeline, r.source, func(ctx context.Context, _ phone) (string, error) {
		err := command.FirstTx(ctx, r.source, func(context.Context, *postgres.Tx) (string, error) { return "x", nil })
		if err != nil {
			return "", err
		}
		postgrestest.Exec(t, r.source, `UPDATE platform.idempotency_keys SET owner = gen_random_uuid()`)
		return command.LastTx(ctx, r.source, func(ctx context.Context, tx *postgres.Tx) (string, error) {
			return "late", store(ctx, tx, greet{Name: "late"})
		})
	})
	_, _, err := command.Once(r.allowed, keyFor("k", ""), text, func(ctx context.Context) (string, error) { return door(ctx, phone{}) })
	if !fault.Is(err, "idempotency_lost") || r.greetings(t) != 0 {
		t.Errorf("%v, %d effects", err, r.greetings(t))
	}
}

func TestKeyIsForOneDoorOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	query := command.HandleQuery(r.pipeline, r.source, func(context.Context, lookUp) (string, error) { return "x", nil })
	_, _, err := command.Once(r.allowed, keyFor("k", ""), text, func(ctx context.Context) (string, error) { return query(ctx, lookUp{}) })
	if !fault.Is(err, "idempotency") {
		t.Errorf("a query: %v", err)
	}
}
