package login_test

import (
	"context"
	"fmt"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/identity/login"
	"example.com/plenary/platform/postgres"
)

func Example() {
	ctx := context.Background()
	db, err := postgres.Open(ctx, postgres.Config{URL: "postgres://plenary@127.0.0.1:5432/plenary"}) // connects when it must
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	var permissions identity.Permissions
	users, err := login.New(login.Deps{
		Source: db.Source("platform"), Pipeline: command.New(command.Deps{}), Permissions: &permissions,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	api := httpx.NewAPI(httpx.Config{Authenticator: users, Permissions: &permissions})
	users.Routes(api)
	for _, route := range api.Routes() {
		fmt.Println(route.Method, route.Path)
	}
	// Output:
	// POST /api/v1/auth/login
	// POST /api/v1/auth/logout
	// GET /api/v1/auth/me
}
