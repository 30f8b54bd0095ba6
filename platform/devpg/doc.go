// Package devpg runs a private PostgreSQL for development and for tests, from programs that are installed.
//
//	server, err := devpg.Start(ctx, devpg.Options{Dir: ".data"})
//	if err != nil {
//		return err // one line that says what to do
//	}
//	defer server.Stop(context.Background())
//	err = server.Provision(ctx, "plenary", "plenary_owner", "plenary_app")
//	pool, err := pgxpool.New(ctx, server.URL("plenary_app", "plenary"))
//
// What it promises:
//
//   - It needs no network, no container and no configuration; versions 15 to 18 will do. See [FindPrograms].
//   - It listens on a Unix socket in a private folder and on no port, so it collides with no other server.
//   - Its data is kept below Options.Dir, durably, one folder a major version; nothing is ever wiped.
//   - It ends when the process that started it ends, kill -9 included, and the next Start clears up what is
//     left over: it waits for the old server, and no stale pid file is in its way.
//   - It works as root too. PostgreSQL refuses to, so the server runs as user postgres or nobody then.
//
// The server runs outside this process and trusts whoever can reach its socket, so it is not for production.
//
// [LockDir] is how a program keeps a data folder to itself. Package pgtest gives each test a database of its
// own, the command withpg runs a test suite on one server, and devdb keeps the development database open.
package devpg
