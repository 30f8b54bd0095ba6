// Package pgtest gives each test a PostgreSQL database of its own.
//
//	var template = pgtest.Template{
//		Name:    "sales",
//		Version: hashOfTheMigrations,
//		Build:   func(ctx context.Context, url string) error { return migrate(ctx, url) },
//	}
//
//	func TestOrder(t *testing.T) {
//		t.Parallel()
//		url := pgtest.Database(t, template) // migrated, empty, dropped when the test ends
//		…
//	}
//
// The migrations run once for a server: the first test that asks builds a template database, and every test
// gets a copy, which takes some 15 ms. Processes that run at once agree on who builds.
//
// The server is the one that TEST_DATABASE_URL names, with a superuser; the command withpg sets it for a whole
// run of go test. Without it, each test process starts a private server when it first needs one, by package
// devpg, which ends with the process, kill -9 included. If there is no PostgreSQL the test fails with one
// line that says what to do: it is not skipped, because a suite that tests nothing is green as well.
//
// As in production, a test works as the database's owner, or as the application's role ([AsApp]), and
// neither is a superuser. Only what a test does to the server itself needs [AsSuperuser] or [Server].
package pgtest
