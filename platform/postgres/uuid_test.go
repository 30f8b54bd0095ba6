package postgres_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"example.com/plenary/platform/postgres/postgrestest"
)

// UUIDs go to the database and come back as they are, wherever one can stand.
func TestUUIDs(t *testing.T) {
	t.Parallel()
	source := postgrestest.Open(t).Source("platform")
	a, b := uuid.MustParse("01936d10-0000-7000-8000-000000000101"), uuid.Nil
	var one, zero uuid.UUID
	var there, missing *uuid.UUID
	var several, none []uuid.UUID
	var text string
	var nullable uuid.NullUUID
	var drivers pgtype.UUID
	err := source.QueryRow(t.Context(), `SELECT $1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::uuid[], $6::uuid[], $7::uuid::text, $8::uuid, $9::uuid`,
		a, b, &a, (*uuid.UUID)(nil), []uuid.UUID{a, b}, []uuid.UUID{}, a, nil, pgtype.UUID{Bytes: a, Valid: true}).
		Scan(&one, &zero, &there, &missing, &several, &none, &text, &nullable, &drivers)
	if err != nil {
		t.Fatal(err)
	}
	if one != a || zero != b || there == nil || *there != a || missing != nil || !slices.Equal(several, []uuid.UUID{a, b}) || len(none) != 0 ||
		text != a.String() || nullable.Valid || drivers.Bytes != a {
		t.Errorf("%v %v %v %v %v %v %v %v %v", one, zero, there, missing, several, none, text, nullable, drivers)
	}
	if err := source.QueryRow(t.Context(), `SELECT $1::text`, a).Scan(&text); err != nil || text != a.String() {
		t.Errorf("as text: %q, %v", text, err)
	}
	if err := source.QueryRow(t.Context(), `SELECT NULL::uuid`).Scan(&one); err == nil {
		t.Errorf("NULL is %v", one)
	}
	if err := source.QueryRow(t.Context(), `SELECT 'no uuid'::text`).Scan(&one); err == nil {
		t.Errorf("a text is %v", one)
	}
}
