package identity

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

// Origin is a context written down: what a row must store so that its work can go on later, in another
// process, as if it had run at once.
type Origin struct {
	UserID        string // Principal.ID; "" is nobody
	Roles         []string
	Tenant        string
	CorrelationID string
	TraceParent   string // W3C traceparent, "" without a trace
}

var traceContext propagation.TraceContext

// Capture writes down on whose behalf, in which tenant, under which correlation and trace ctx works.
func Capture(ctx context.Context) Origin {
	p := PrincipalOf(ctx)
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)
	return Origin{
		UserID: p.ID, Roles: p.Roles, Tenant: TenantOf(ctx),
		CorrelationID: CorrelationID(ctx), TraceParent: carrier.Get("traceparent"),
	}
}

// Restore returns ctx as it was where o was captured. What o does not name is nobody's: a principal that ctx
// carries already never leaks into the restored work.
func Restore(ctx context.Context, o Origin) context.Context {
	ctx = WithTenant(ctx, o.Tenant)
	ctx = WithPrincipal(ctx, Principal{ID: o.UserID, Roles: o.Roles})
	ctx = WithCorrelationID(ctx, o.CorrelationID)
	return traceContext.Extract(ctx, propagation.MapCarrier{"traceparent": o.TraceParent})
}
