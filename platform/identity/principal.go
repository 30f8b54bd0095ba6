package identity

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
)

const systemPrefix = "system:"

// Principal is the one on whose behalf code runs. The zero value is nobody.
type Principal struct {
	// ID is a user's UUID, "system:" and a name for a part of the system, another scheme that a module
	// chose ("voter:…"), or empty for nobody. It is what rows and audit entries store.
	ID string
	// Roles are the roles held when the principal asked. Role names compare without regard to case.
	Roles []string
}

// User returns the principal of a signed-in user.
func User(id uuid.UUID, roles ...string) Principal {
	return Principal{ID: id.String(), Roles: roles}
}

// System returns a named part of the system, such as the clock. Its permissions are those of its roles.
func System(name string, roles ...string) Principal {
	return Principal{ID: systemPrefix + name, Roles: roles}
}

// Anonymous reports whether nobody is known to be asking.
func (p Principal) Anonymous() bool { return p.ID == "" }

// IsSystem reports whether a part of the system is asking.
func (p Principal) IsSystem() bool { return strings.HasPrefix(p.ID, systemPrefix) }

// UserID returns the user's id, and false for anybody who is not a user.
func (p Principal) UserID() (uuid.UUID, bool) {
	id, err := uuid.Parse(p.ID)
	return id, err == nil
}

// HasRole reports whether the principal holds the role.
func (p Principal) HasRole(role string) bool {
	return slices.ContainsFunc(p.Roles, func(r string) bool { return strings.EqualFold(r, role) })
}

type contextKey int

const (
	principalKey contextKey = iota
	tenantKey
	correlationKey
)

// WithPrincipal returns a context whose work is done on behalf of p.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey, p)
}

// PrincipalOf returns the one on whose behalf ctx works; nobody if nothing was said.
func PrincipalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey).(Principal)
	return p
}

// WithTenant returns a context that works within a tenant.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey, tenant)
}

// TenantOf returns the tenant that ctx works within, or "".
func TenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey).(string)
	return tenant
}

// WithCorrelationID returns a context whose work, and all work that it causes, bears id.
func WithCorrelationID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, correlationKey, id)
}

// CorrelationID returns the id that ties together all work with one cause, or "".
func CorrelationID(ctx context.Context) string {
	id, _ := ctx.Value(correlationKey).(string)
	return id
}
