// Package platform is the part of Plenary that is meant to be copied. It has no code of its own; this page says
// which package is for what. Each has a package comment that teaches it in one screen.
//
// A package imports packages of a lower rank only, and nothing from outside platform that is ours. In order of rank:
//
//	0  fault          an error's kind, which decides about HTTP status and about another attempt
//	1  strictjson     JSON that has exactly one meaning: bodies, stored payloads, cursors
//	   identity       who asks, what they may do, and both carried across every hop
//	   feature        switches that make a feature disappear
//	   devpg          a private PostgreSQL for development and tests; pgtest: a database for each test
//	2  telemetry      metrics, traces, log lines that can be tied to both
//	   postgres       pools, transactions in plain sight, hooks around a commit, migrations
//	   mail           one message over SMTP; inbox: the mail server of development
//	   cache          results of queries, never a stale one after an eviction
//	   ratelimit      who may do something again, and when
//	3  command        the pipeline that every change of state goes through, inline or deferred
//	   wake           "look at your tables", told to every replica
//	   lock           one holder at a time, with a fence around what it does
//	4  httpx          routes declared once, strict input, problem documents, idempotency keys, OpenAPI
//	   audit          who changed what, from what to what, in the change's own transaction
//	   later          which way to do work later; later/channel: the way that may lose something
//	5  identity/login users, sessions, sign-in
//	   later/lease    the engine under the durable ways
//	6  later/…        internalcommand and outbox: the durable ways
//	7  later/schedule jobs: the clock starts them
//	   live           rooms over WebSockets: a snapshot, and then what has changed
//	8  ops            what operators see and can do, over HTTP
//	   host           starts and stops the parts of a program in order; needs nothing but fault
//
// Take what you need: the packages up to rank 2 stand almost alone. What is done later needs fault, strictjson,
// identity, feature, postgres, cache and command, and devpg for its tests; postgres.Migrate makes its tables.
//
// # Copying it
//
// In the repository of Plenary,
//
//	make copy-platform dest=../shop module=example.org/shop
//
// copies the folder with its licence, puts your module's path into the imports, and then builds, vets and tests the
// copy where it lies. dest may be a module that exists already, if module is its path; if not, it becomes one.
//
// Nothing here depends on the path. Plenary's name is left in a few defaults: of the application name that PostgreSQL
// shows (postgres.Config), of the NOTIFY channel (wake.Config), of the session cookie (httpx.SessionCookie). Every
// program needs a database of its own, because the schema is called "platform" in all of them.
//
// What a program has to write itself is the wiring. Plenary's own is cmd/app, and modules/sales is an example of
// what stands on the platform.
package platform
