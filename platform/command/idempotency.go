package command

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/plenary/platform/postgres"
)

// keptFor is how long an answer is replayed.
const keptFor = `interval '24 hours'`

// margin is what a run outside of a transaction may take beyond its timeout before others take its request up.
const margin = 5 * time.Second

// alone admits one transaction a key at a time, without waiting: a waiting one would hold a connection. Its lock
// ends with the transaction, kill -9 included.
func (k *keyed) alone() postgres.Statement {
	return postgres.Statement{
		SQL:  `SELECT 1 WHERE pg_try_advisory_xact_lock($1)`,
		Args: []any{int64(binary.BigEndian.Uint64(k.Scope[:8]))},
		Check: func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 {
				return errInProgress
			}
			return nil
		},
	}
}

var errKnown = errors.New("there is a row for the key")

// unknown refuses a transaction for a key that has been used already.
func (k *keyed) unknown() postgres.Statement {
	return postgres.Statement{
		SQL:  `SELECT 1 FROM platform.idempotency_keys WHERE scope = $1 AND created_on > now() - ` + keptFor,
		Args: []any{k.Scope[:]},
		Check: func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != 0 {
				return errKnown
			}
			return nil
		},
	}
}

// transactional is the key's part of a guard: the row commits with the handler's effects, answer included.
func (k *keyed) transactional(guard Guard) Guard {
	last := guard.Last
	guard.First = append([]postgres.Statement{k.alone(), k.unknown()}, guard.First...)
	guard.Last = func(result any) ([]postgres.Statement, error) {
		answer, err := k.render(result)
		if err != nil {
			return nil, err
		}
		k.answer = &answer
		statements := []postgres.Statement{{
			SQL: `INSERT INTO platform.idempotency_keys (scope, body, status, location, etag, answer) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (scope) DO UPDATE SET body = excluded.body, resource = '', owner = NULL, claimed_until = NULL, created_on = now(),
					status = excluded.status, location = excluded.location, etag = excluded.etag, answer = excluded.answer`,
			Args: []any{k.Scope[:], k.Body[:], answer.Status, answer.Location, answer.ETag, answer.Body},
		}}
		if last != nil {
			more, err := last(result)
			if err != nil {
				return nil, err
			}
			statements = append(statements, more...)
		}
		return statements, nil
	}
	if guard.Witness == nil {
		guard.Witness = k.witness
	}
	return guard
}

// witness waits for the session that may still be committing, whose lock ends with its transaction.
func (k *keyed) witness(ctx context.Context, tx *postgres.Tx) (committed bool, err error) {
	lock := k.alone().Args[0]
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lock); err != nil {
		return false, err
	}
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM platform.idempotency_keys WHERE scope = $1 AND status IS NOT NULL)`, k.Scope[:]).Scan(&committed)
	return committed, err
}

// look finds out what became of earlier runs: it sets replay if one was answered. It returns whether there was one.
func (k *keyed) look(ctx context.Context, r postgres.Reader) (known, busy bool, err error) {
	var body, answer []byte
	var status *int
	var location, etag *string
	err = r.QueryRow(ctx, `
		SELECT body, resource, status, location, etag, answer, claimed_until IS NOT NULL AND claimed_until > now()
		FROM platform.idempotency_keys WHERE scope = $1 AND created_on > now() - `+keptFor, k.Scope[:]).
		Scan(&body, &k.resource, &status, &location, &etag, &answer, &busy)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("look up idempotency key: %w", err)
	}
	if string(body) != string(k.Body[:]) {
		return true, false, errReused
	}
	if status != nil {
		k.replay = &Answer{Status: *status, Body: answer}
		if location != nil {
			k.replay.Location = *location
		}
		if etag != nil {
			k.replay.ETag = *etag
		}
	}
	return true, busy, nil
}

// inside runs a transactional handler under the key.
func (k *keyed) inside(ctx context.Context, source *postgres.Source, run func() (any, error)) (any, error) {
	result, err := run()
	if !errors.Is(err, errKnown) {
		return result, err
	}
	_, _, err = k.look(ctx, source)
	return nil, err
}

// around runs a handler that opens its own transactions under the key. What an earlier run has begun it resumes.
func (k *keyed) around(ctx context.Context, source *postgres.Source, timeout time.Duration, run func(ctx context.Context) (any, error)) (any, error) {
	k.lease = timeout + margin
	known, busy, err := k.look(ctx, source)
	switch {
	case err != nil || k.replay != nil:
		return nil, err
	case busy:
		return nil, errInProgress
	case known:
		if err := k.takeOver(ctx, source); err != nil {
			return nil, err
		}
	}
	result, err := run(context.WithValue(ctx, ongoingKey{}, k))
	if err == nil && k.answer == nil {
		err = answer(ctx, source, k, result)
	}
	switch {
	case errors.Is(err, errKnown), errors.Is(err, errInProgress):
		return nil, errInProgress // it was begun since we looked
	case err != nil:
		k.giveBack(ctx, source)
	}
	return result, err
}

// takeOver makes this run the one that works on the request, unless somebody else was faster.
func (k *keyed) takeOver(ctx context.Context, source *postgres.Source) error {
	k.resumed = true
	return source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE platform.idempotency_keys SET owner = $2, claimed_until = now() + $3::interval
			WHERE scope = $1 AND status IS NULL AND (claimed_until IS NULL OR claimed_until <= now())`, k.Scope[:], k.owner, k.lease)
		if err == nil && tag.RowsAffected() == 0 {
			return errInProgress
		}
		return err
	})
}

// giveBack lets the next request with the key go on at once. If it cannot be done, that one waits for the lease.
func (k *keyed) giveBack(ctx context.Context, source *postgres.Source) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), margin)
	defer cancel()
	_ = source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE platform.idempotency_keys SET claimed_until = NULL WHERE scope = $1 AND owner = $2 AND status IS NULL`,
			k.Scope[:], k.owner)
		return err
	})
}

type ongoingKey struct{}

func ongoing(ctx context.Context) *keyed {
	k, _ := ctx.Value(ongoingKey{}).(*keyed)
	return k
}

// Resumed tells a handler that runs outside of a transaction what an earlier run of the same request has begun,
// as that one's FirstTx named it. Such a handler goes on from there and begins nothing.
func Resumed(ctx context.Context) (resource string, ok bool) {
	if k := ongoing(ctx); k != nil && k.resumed {
		return k.resource, true
	}
	return "", false
}

// FirstTx is the first transaction of a handler that runs outside of one. begin returns a name for what it has
// created, by which a later run of the same request can find it. Without an idempotency key it is Source.InTx.
func FirstTx(ctx context.Context, source *postgres.Source, begin func(ctx context.Context, tx *postgres.Tx) (resource string, err error)) error {
	k := ongoing(ctx)
	if k != nil && k.resumed {
		k = nil // its row is there
	}
	var guard postgres.Guard
	if k != nil {
		guard.First = []postgres.Statement{k.alone(), k.unknown()}
	}
	return source.InGuardedTx(ctx, guard, func(ctx context.Context, tx *postgres.Tx) error {
		resource, err := begin(ctx, tx)
		if err != nil || k == nil {
			return err
		}
		tx.WithCommit(postgres.Statement{
			SQL: `INSERT INTO platform.idempotency_keys (scope, body, resource, owner, claimed_until) VALUES ($1, $2, $3, $4, now() + $5::interval)
				ON CONFLICT (scope) DO UPDATE SET body = excluded.body, resource = excluded.resource, owner = excluded.owner,
					claimed_until = excluded.claimed_until, created_on = now(), status = NULL, location = NULL, etag = NULL, answer = NULL`,
			Args: []any{k.Scope[:], k.Body[:], resource, k.owner, k.lease},
		})
		return nil
	})
}

// LastTx is the last transaction of such a handler: the answer made of its result commits with it. Without an
// idempotency key it is Source.InTx.
func LastTx[R any](ctx context.Context, source *postgres.Source, end func(ctx context.Context, tx *postgres.Tx) (R, error)) (R, error) {
	k := ongoing(ctx)
	var result R
	err := source.InTx(ctx, func(ctx context.Context, tx *postgres.Tx) (err error) {
		if result, err = end(ctx, tx); err != nil || k == nil {
			return err
		}
		return k.store(tx, result)
	})
	return result, err
}

// answer stores the answer of a run that ended without a last transaction.
func answer(ctx context.Context, source *postgres.Source, k *keyed, result any) error {
	return source.InTx(ctx, func(_ context.Context, tx *postgres.Tx) error { return k.store(tx, result) })
}

func (k *keyed) store(tx *postgres.Tx, result any) error {
	answer, err := k.render(result)
	if err != nil {
		return err
	}
	k.answer = &answer
	tx.WithCommit(postgres.Statement{
		SQL: `UPDATE platform.idempotency_keys SET status = $3, location = $4, etag = $5, answer = $6, claimed_until = NULL
			WHERE scope = $1 AND owner = $2 AND status IS NULL`,
		Args: []any{k.Scope[:], k.owner, answer.Status, answer.Location, answer.ETag, answer.Body},
		Check: func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != 1 {
				return errKeyLost
			}
			return nil
		},
	})
	return nil
}

// PurgeKeys removes at most limit keys that are no longer honoured, and returns how many have gone.
func PurgeKeys(ctx context.Context, tx *postgres.Tx, limit int) (int, error) {
	tag, err := tx.Exec(ctx, `
		DELETE FROM platform.idempotency_keys WHERE scope IN (
			SELECT scope FROM platform.idempotency_keys
			WHERE created_on < now() - `+keptFor+` AND (claimed_until IS NULL OR claimed_until < now())
			ORDER BY created_on LIMIT $1 FOR UPDATE SKIP LOCKED)`, limit)
	if err != nil {
		return 0, fmt.Errorf("purge idempotency keys: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
