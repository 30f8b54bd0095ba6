package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Reader is what a read needs: a source outside a transaction, a Tx inside one.
type Reader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Source is a module's place in a database. It is safe for concurrent use.
type Source struct {
	name string
	db   *Database
	pool *pgxpool.Pool
}

// Name returns the module's name.
func (s *Source) Name() string { return s.name }

// Database returns the physical database that the source lies in.
func (s *Source) Database() *Database { return s.db }

// Query reads outside a transaction. The connection goes back when the rows are closed or exhausted.
// It fails with Unavailable when no connection is to be had, and with Internal ("nested_transaction") under
// the context of an open transaction.
func (s *Source) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	conn, err := s.db.acquire(ctx, s.pool)
	if err != nil {
		return nil, err
	}
	ask := func() (pgx.Rows, error) { return conn.Query(ctx, sql, args...) }
	rows, err := ask()
	if err != nil {
		conn.Release()
		return nil, Fault(err)
	}
	return &releasingRows{Rows: rows, conn: conn, again: ask}, nil
}

// QueryRow reads one row outside a transaction. Errors, pgx.ErrNoRows among them, come from Scan.
func (s *Source) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := s.Query(ctx, sql, args...)
	return &row{rows: rows, err: err}
}

// Batch sends statements in one round trip and hands their results to read. They are one transaction: all of
// them take effect when Batch returns nil, and none when it returns an error. It serves the platform's loops,
// which claim, renew and look for what is due many times a second.
func (s *Source) Batch(ctx context.Context, batch *pgx.Batch, read func(results pgx.BatchResults) error) error {
	conn, err := s.db.acquire(ctx, s.pool)
	if err != nil {
		return err
	}
	defer conn.Release()
	results := conn.SendBatch(ctx, batch)
	if err := read(results); err != nil {
		_ = results.Close() // the first error is the one to report
		return Fault(err)
	}
	return Fault(results.Close())
}

// releasingRows gives its connection back as soon as nothing more can be read from it. A read whose prepared
// statement a migration has made useless is asked for again: nobody has seen any of it.
type releasingRows struct {
	pgx.Rows
	conn  *pgxpool.Conn
	again func() (pgx.Rows, error) // nil once a row has been read
	tries int
}

func (r *releasingRows) Next() bool {
	if r.Rows.Next() {
		r.again = nil
		return true
	}
	if r.again != nil && r.tries < maxTries && planChanged(r.Err()) {
		r.tries++
		r.Rows.Close()
		if rows, err := r.again(); err == nil {
			r.Rows = rows
			return r.Next()
		}
	}
	r.Close()
	return false
}

func (r *releasingRows) Close() {
	r.Rows.Close()
	if r.conn != nil {
		r.conn.Release()
		r.conn = nil
	}
}

type row struct {
	rows pgx.Rows
	err  error
}

func (r *row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return Fault(err)
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return Fault(r.rows.Err())
}
