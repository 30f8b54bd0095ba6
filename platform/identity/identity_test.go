package identity_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/identity"
)

func Example() {
	// While handling a request:
	ctx := identity.WithPrincipal(context.Background(), identity.Principal{ID: "alice", Roles: []string{"customer"}})
	ctx = identity.WithCorrelationID(ctx, "order-42")
	stored := identity.Capture(ctx) // goes into the row, in the same transaction

	// Later, in another process:
	later := identity.Restore(context.Background(), stored)
	fmt.Println(identity.PrincipalOf(later).ID, identity.PrincipalOf(later).Roles, identity.CorrelationID(later))
	// Output: alice [customer] order-42
}

func TestRestoreBringsBackEverythingThatCaptureSaw(t *testing.T) {
	spanContext := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3}, SpanID: trace.SpanID{4, 5}, TraceFlags: trace.FlagsSampled,
	})
	ctx := trace.ContextWithSpanContext(context.Background(), spanContext)
	ctx = identity.WithPrincipal(ctx, identity.User(uuid.New(), "customer", "Organizer"))
	ctx = identity.WithTenant(identity.WithCorrelationID(ctx, "c-1"), "t-1")

	stored := identity.Capture(ctx)
	restored := identity.Restore(context.Background(), stored)

	if diff := cmp.Diff(stored, identity.Capture(restored)); diff != "" {
		t.Errorf("something was lost on the way (-stored +restored):\n%s", diff)
	}
	if got := trace.SpanContextFromContext(restored); got.TraceID() != spanContext.TraceID() || !got.IsRemote() {
		t.Errorf("trace = %v", got)
	}
}

func TestRestoreWithoutUserIsNobody(t *testing.T) {
	host := identity.WithPrincipal(context.Background(), identity.System("host", "admin"))
	restored := identity.Restore(host, identity.Origin{})
	if p := identity.PrincipalOf(restored); !p.Anonymous() || len(p.Roles) != 0 {
		t.Errorf("the host's authority leaked: %+v", p)
	}
}

func TestPermissionTable(t *testing.T) {
	var r identity.Permissions
	r.GrantEverything("admin")
	r.Grant("customer", "sales:order")
	r.Grant("Viewer", "ops:read")
	r.Grant("viewer", "sales:orders:read")

	cases := []struct {
		roles      []string
		permission identity.Permission
		want       bool
	}{
		{[]string{"customer"}, "sales:order", true},
		{[]string{"CUSTOMER"}, "sales:order", true},
		{[]string{"customer"}, "SALES:ORDER", false},
		{[]string{"viewer"}, "ops:read", true},
		{[]string{"viewer"}, "sales:orders:read", true},
		{[]string{"viewer"}, "sales:order", false},
		{[]string{"viewer", "customer"}, "sales:order", true},
		{[]string{"admin"}, "ops:read", true},
		{[]string{"admin"}, "nobody:registered:this", false},
		{nil, "sales:order", false},
	}
	for _, c := range cases {
		if got := r.Allows(identity.Principal{ID: "x", Roles: c.roles}, c.permission); got != c.want {
			t.Errorf("Allows(%v, %s) = %v, want %v", c.roles, c.permission, got, c.want)
		}
	}
	want := []identity.Permission{"ops:read", "sales:orders:read"}
	if diff := cmp.Diff(want, r.Of(identity.Principal{ID: "x", Roles: []string{"viewer"}})); diff != "" {
		t.Error(diff)
	}
}

func TestRequireTellsNobodyFromForbidden(t *testing.T) {
	var r identity.Permissions
	r.Grant("customer", "sales:order")
	nobody := context.Background()
	viewer := identity.WithPrincipal(nobody, identity.User(uuid.New(), "viewer"))
	customer := identity.WithPrincipal(nobody, identity.User(uuid.New(), "customer"))

	if got := fault.KindOf(r.Require(nobody, "sales:order")); got != fault.Unauthenticated {
		t.Errorf("nobody: %v", got)
	}
	if got := fault.KindOf(r.Require(viewer, "sales:order")); got != fault.Forbidden {
		t.Errorf("viewer: %v", got)
	}
	if err := r.Require(customer, "sales:order"); err != nil {
		t.Errorf("customer: %v", err)
	}
}
