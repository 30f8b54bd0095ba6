package audit_test

import (
	"context"
	"fmt"
	"testing"

	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/postgres"
)

const insufficientPrivilege, invalidParameter = "42501", "22023"

// Old rows are as safe as new ones: only the purge removes them, and it does not choose.
func TestNobodyChangesEntriesByHand(t *testing.T) {
	t.Parallel()
	place := open(t)
	backdated(t, place, 3, 0)
	backdated(t, place, 3, 24*365)
	for _, role := range []string{"app", "owner", "superuser"} {
		conn := session(t, place, role)
		for _, sql := range []string{
			`UPDATE platform.audit_entries SET changed_by = 'somebody else'`,
			`UPDATE platform.audit_entries SET changed_on = changed_on - interval '1 year' WHERE false`,
			`DELETE FROM platform.audit_entries`,
			`DELETE FROM platform.audit_entries WHERE changed_on < now() - interval '100 days'`,
			`WITH gone AS (DELETE FROM platform.audit_entries RETURNING id) SELECT * FROM gone`,
			`DO $$ BEGIN DELETE FROM platform.audit_entries WHERE changed_on < now() - interval '100 days'; END $$`,
			`INSERT INTO platform.audit_entries SELECT * FROM platform.audit_entries LIMIT 1
				ON CONFLICT (id) DO UPDATE SET changes = '[]'`,
			`TRUNCATE platform.audit_entries`,
		} {
			_, err := conn.Exec(t.Context(), sql)
			if postgres.Code(err) != insufficientPrivilege {
				t.Errorf("%s: %s: %v", role, sql, err)
			}
		}
	}
	if n := count(t, place); n != 6 {
		t.Errorf("%d of 6 entries are left", n)
	}
}

// What PostgreSQL offers for getting around triggers, or into their place.
func TestCheating(t *testing.T) {
	t.Parallel()
	place := open(t)
	backdated(t, place, 3, 0)
	backdated(t, place, 3, 24*365)
	run(t, session(t, place, "superuser"), `DO $$ BEGIN EXECUTE format('GRANT TEMP ON DATABASE %I TO `+pgtest.AppRole+`', current_database()); END $$`)
	const asReplica = `SET session_replication_role = replica; `
	const throughTrigger = `
		CREATE TEMP TABLE lever (old boolean);
		CREATE FUNCTION pg_temp.pull() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			DELETE FROM platform.audit_entries WHERE NEW.old = (changed_on < now() - interval '100 days');
			RETURN NEW;
		END $$;
		CREATE TRIGGER pull BEFORE INSERT ON lever FOR EACH ROW EXECUTE FUNCTION pg_temp.pull();
		INSERT INTO lever VALUES `
	// Another table in the place of the one that tells who is the owner.
	const shadowed = `
		SET search_path = pg_temp, pg_catalog;
		CREATE TEMP TABLE pg_class AS
			SELECT 'platform.audit_entries'::regclass::oid AS oid, usesysid AS relowner FROM pg_catalog.pg_user WHERE usename = current_user; `
	for _, c := range []struct{ role, sql, code string }{
		{"superuser", asReplica + `DELETE FROM platform.audit_entries`, insufficientPrivilege},
		{"superuser", asReplica + `TRUNCATE platform.audit_entries`, insufficientPrivilege},
		{"superuser", `SET ROLE ` + pgtest.OwnerRole + `; DELETE FROM platform.audit_entries`, insufficientPrivilege},
		{"app", `SET ROLE ` + pgtest.OwnerRole, insufficientPrivilege},
		{"app", `ALTER TABLE platform.audit_entries DISABLE TRIGGER ALL`, insufficientPrivilege},
		{"app", throughTrigger + `(true)`, insufficientPrivilege},
		{"superuser", throughTrigger + `(true)`, insufficientPrivilege},
		{"owner", throughTrigger + `(false)`, insufficientPrivilege}, // a change of the schema; what is recent stays all the same
		{"app", shadowed + throughTrigger + `(true)`, insufficientPrivilege},
		{"owner", `UPDATE platform.audit_purge SET removed = 1`, "55000"},
	} {
		_, err := session(t, place, c.role).Exec(t.Context(), c.sql)
		if postgres.Code(err) != c.code {
			t.Errorf("%s: %s: %v", c.role, c.sql, err)
		}
	}
	if n := count(t, place); n != 6 {
		t.Errorf("%d of 6 entries are left", n)
	}
}

func TestPurgeRefusesWhatIsRecent(t *testing.T) {
	t.Parallel()
	place := open(t)
	backdated(t, place, 3, 23)
	for _, role := range []string{"app", "owner", "superuser"} {
		conn := session(t, place, role)
		for _, age := range []string{
			"'0'", "'23:59:59'", "'-1 year'", "NULL", "'1 month -31 days'", "'1 year -366 days'", "'1 day -1 second'",
		} {
			for _, sql := range []string{
				fmt.Sprintf(`SELECT platform.purge_audit_entries(%s, 1000)`, age),
				fmt.Sprintf(`INSERT INTO platform.audit_purge (older_than, batch) VALUES (%s, 1000)`, age),
			} {
				if _, err := conn.Exec(t.Context(), sql); postgres.Code(err) != invalidParameter {
					t.Errorf("%s: %s: %v", role, sql, err)
				}
			}
		}
		for _, batch := range []string{"0", "-1", "10001", "NULL"} {
			_, err := conn.Exec(t.Context(), `SELECT platform.purge_audit_entries('90 days', `+batch+`)`)
			if postgres.Code(err) != invalidParameter {
				t.Errorf("%s: a batch of %s: %v", role, batch, err)
			}
		}
	}
	if n := count(t, place); n != 3 {
		t.Errorf("%d of 3 entries are left", n)
	}
}

func TestPurgeTakesTheOldestFirst(t *testing.T) {
	t.Parallel()
	place := open(t)
	for _, hours := range []int{25, 2500, 23, 3000, 26, 2400} {
		backdated(t, place, 1, hours)
	}
	conn := session(t, place, "app")
	purge := func(age string, batch int) (removed int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), `SELECT platform.purge_audit_entries($1::text::interval, $2)`, age, batch).Scan(&removed); err != nil {
			t.Fatal(err)
		}
		return removed
	}
	ages := func() string {
		var left string
		const sql = `SELECT string_agg((extract(epoch FROM now() - changed_on)::int / 3600)::text, ' ' ORDER BY changed_on) FROM platform.audit_entries`
		if err := conn.QueryRow(context.Background(), sql).Scan(&left); err != nil {
			t.Fatal(err)
		}
		return left
	}
	for _, c := range []struct {
		age            string
		batch, removed int
		left           string
	}{
		{"2400 hours", 1, 1, "2500 2400 26 25 23"},
		{"2450 hours", 9, 1, "2400 26 25 23"},
		{"24 hours", 2, 2, "25 23"},
		{"24 hours", 9, 1, "23"},
		{"24 hours", 9, 0, "23"},
	} {
		if removed := purge(c.age, c.batch); removed != c.removed || ages() != c.left {
			t.Errorf("older than %s: %d removed, %s left", c.age, removed, ages())
		}
	}
}
