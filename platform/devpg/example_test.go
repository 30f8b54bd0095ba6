package devpg_test

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/devpg"
)

// An application's development mode: a server below its data folder, a database, and a role that is allowed
// no more than in production. StartTemporary stands in for Start here.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := devpg.StartTemporary(ctx, devpg.Options{Fast: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Stop(context.Background())
	if err := server.Provision(ctx, "shop", "shop_owner", "shop_app"); err != nil {
		fmt.Println(err)
		return
	}

	conn, err := pgx.Connect(ctx, server.URL("shop_app", "shop"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close(ctx)
	var who string
	var super bool
	row := conn.QueryRow(ctx, "select current_user, usesuper from pg_user where usename = current_user")
	fmt.Println(row.Scan(&who, &super), who, super)
	// Output: <nil> shop_app false
}
