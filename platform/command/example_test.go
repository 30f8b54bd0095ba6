package command_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/postgres"
)

var testFiles = fstest.MapFS{"0001_test.sql": {Data: []byte(`CREATE SCHEMA test; CREATE TABLE test.greeting (name text)`)}}

// RingBell is a command that touches no database, so the example runs without one.
type RingBell struct{ Times int }

func (RingBell) Policy() command.Policy {
	return command.Policy{Name: "hotel.ring_bell", Permission: "hotel:bell"}
}

func (c RingBell) Validate() error {
	var v fault.Violations
	v.Check(c.Times >= 1 && c.Times <= 3, "times", "out_of_range", "must be 1 to 3")
	return v.Err()
}

func Example() {
	var permissions identity.Permissions
	permissions.Grant("guest", "hotel:bell")
	pipeline := command.New(command.Deps{Permissions: &permissions})

	var hotel postgres.Source // a real one comes from Database.Source
	ringBell := command.HandleOutside(pipeline, &hotel, func(_ context.Context, cmd RingBell) error {
		for range cmd.Times {
			fmt.Println("ding")
		}
		return nil
	})

	nobody := context.Background()
	guest := identity.WithPrincipal(nobody, identity.Principal{ID: "g", Roles: []string{"guest"}})
	fmt.Println(ringBell(guest, RingBell{Times: 2}))
	fmt.Println(ringBell(guest, RingBell{Times: 9}))
	fmt.Println(ringBell(nobody, RingBell{Times: 1}))
	// Output:
	// ding
	// ding
	// <nil>
	// the request is not valid
	// sign in first
}
