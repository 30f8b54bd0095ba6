// Package login lets users sign in, and knows who they are.
//
// A sign-in makes a session: a random token that the user keeps, in a cookie or as a bearer token, and of which
// the database has only a hash. Passwords are stored as argon2id hashes. An unknown address costs the same time
// as a wrong password and gets the same answer. Guessing is made slow; [DefaultLimits] has the rule.
//
// Users and sessions live in the default source's database, whichever databases the modules have.
//
//	users := login.New(login.Deps{Source: db.Source("platform"), Pipeline: pipeline, Permissions: permissions})
//	api := httpx.NewAPI(httpx.Config{Authenticator: users, Permissions: permissions})
//	users.Routes(api) // POST /auth/login, POST /auth/logout, GET /auth/me
package login
