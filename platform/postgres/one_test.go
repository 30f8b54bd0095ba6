package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

func TestOne(t *testing.T) {
	t.Parallel()
	source := postgrestest.Open(t).Source("platform")
	missing := errors.New("there is none")
	one := func(sql string) (int, error) {
		return postgres.One(t.Context(), source, "read number", pgx.RowTo[int], missing, sql)
	}
	if n, err := one(`SELECT 7`); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := one(`SELECT 7 WHERE false`); err != missing {
		t.Errorf("none: %v", err)
	}
	for _, sql := range []string{`SELECT generate_series(1, 2)`, `SELECT nothing`, `SELECT 1 / 0`} {
		if _, err := one(sql); err == nil || errors.Is(err, missing) || !strings.HasPrefix(err.Error(), "read number: ") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
