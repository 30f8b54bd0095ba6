package ops_test

import (
	"cmp"
	"context"
	"fmt"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/postgres"
)

func Example() {
	db, err := postgres.Open(context.Background(), postgres.Config{URL: "postgres://plenary@127.0.0.1:5432/plenary"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	var permissions identity.Permissions
	ops.Grant(&permissions)
	wake := func(database string) {} // in earnest, a message on the wake bus
	pipeline := command.New(command.Deps{Permissions: &permissions})
	queue := internalcommand.New(pipeline, wake)
	console := ops.New(ops.Deps{
		Databases: []*postgres.Database{db}, Pipeline: pipeline, Wake: wake,
		Commands: queue, Jobs: schedule.New(pipeline, queue, wake),
	})
	api := httpx.NewAPI(httpx.Config{Permissions: &permissions})
	console.Routes(api)
	for _, route := range api.Routes() {
		fmt.Println(cmp.Or(route.Permission, "signed in"), route.Method, route.Path)
	}
	// Output:
	// ops:read GET /api/v1/ops/summary
	// ops:read GET /api/v1/ops/internal-commands
	// ops:read GET /api/v1/ops/internal-commands/{id}
	// ops:act POST /api/v1/ops/internal-commands/requeue
	// ops:act POST /api/v1/ops/internal-commands/purge
	// ops:read GET /api/v1/ops/outbox
	// ops:read GET /api/v1/ops/outbox/{id}
	// ops:act POST /api/v1/ops/outbox/requeue
	// ops:act POST /api/v1/ops/outbox/purge
	// ops:read GET /api/v1/ops/jobs
	// ops:read GET /api/v1/ops/jobs/{name}
	// ops:read GET /api/v1/ops/jobs/{name}/runs
	// ops:read GET /api/v1/ops/jobs/{name}/preview
	// ops:act POST /api/v1/ops/jobs/{name}/runs
	// ops:read GET /api/v1/ops/audit
	// ops:read GET /api/v1/ops/flows/{correlationId}
	// signed in GET /api/v1/operations/{id}
	// ops:admin PATCH /api/v1/ops/jobs/{name}
}
