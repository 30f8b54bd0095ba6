package pgtest

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// idle keeps a few connections to the server between tests. It is no pool with goroutines of its own, which
// would look like leaks to a test that searches for those.
var idle = make(chan *pgx.Conn, 4)

// with lends a connection of a superuser to f. If f fails the connection is not used again.
func (h *Handle) with(ctx context.Context, f func(*pgx.Conn) error) error {
	var conn *pgx.Conn
	select {
	case conn = <-idle:
	default:
		var err error
		if conn, err = pgx.Connect(ctx, h.url); err != nil {
			return err
		}
	}
	if err := f(conn); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return err
	}
	select {
	case idle <- conn:
		return nil
	default:
		return conn.Close(ctx)
	}
}

func (h *Handle) exec(ctx context.Context, sql string) error {
	return h.with(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

// sweep drops what killed runs left on a server that outlives them.
func (h *Handle) sweep(ctx context.Context) error {
	var names []string
	err := h.with(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select datname from pg_database where starts_with(datname, $1)", namePrefix)
		if err == nil {
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	for _, name := range names {
		if isLeftover(name, time.Now()) {
			// Another process may be dropping it at this moment; the next sweep will see to what stays.
			_ = h.exec(ctx, "drop database if exists "+quote(name)+" with (force)")
		}
	}
	return err
}
