package identity

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"example.com/plenary/platform/fault"
)

// Permission names what may be done: "sales:order", "conference:session-selection:manage".
type Permission string

// Permissions maps roles to what they may do. Modules fill it while the program is wired; from then on it
// is only read, by any number of goroutines. The zero value grants nothing.
type Permissions struct {
	byRole map[string]map[Permission]bool
	all    map[Permission]bool
	every  map[string]bool
}

// Grant lets a role do something. Grants of several modules to one role add up.
func (r *Permissions) Grant(role string, permissions ...Permission) {
	if r.byRole == nil {
		r.byRole, r.all = map[string]map[Permission]bool{}, map[Permission]bool{}
	}
	role = strings.ToLower(role)
	if r.byRole[role] == nil {
		r.byRole[role] = map[Permission]bool{}
	}
	for _, p := range permissions {
		r.byRole[role][p], r.all[p] = true, true
	}
}

// GrantEverything lets a role do whatever any module has named, now or later.
func (r *Permissions) GrantEverything(role string) {
	if r.every == nil {
		r.every = map[string]bool{}
	}
	r.every[strings.ToLower(role)] = true
}

// Allows reports whether one of p's roles grants the permission. An unknown permission is allowed to nobody.
func (r *Permissions) Allows(p Principal, permission Permission) bool {
	return r.all[permission] && slices.ContainsFunc(p.Roles, func(role string) bool {
		role = strings.ToLower(role)
		return r.every[role] || r.byRole[role][permission]
	})
}

// Require returns nil if the principal of ctx is allowed the permission, an Unauthenticated fault
// ("unauthenticated") if nobody is asking, and else a Forbidden one ("permission_denied").
func (r *Permissions) Require(ctx context.Context, permission Permission) error {
	p := PrincipalOf(ctx)
	switch {
	case r.Allows(p, permission):
		return nil
	case p.Anonymous():
		return fault.New(fault.Unauthenticated, "unauthenticated", "sign in first")
	default:
		return fault.Newf(fault.Forbidden, "permission_denied", "this needs the permission %s", permission)
	}
}

// Of lists what p may do, sorted.
func (r *Permissions) Of(p Principal) []Permission {
	var granted []Permission
	for permission := range r.all {
		if r.Allows(p, permission) {
			granted = append(granted, permission)
		}
	}
	slices.SortFunc(granted, cmp.Compare[Permission])
	return granted
}
