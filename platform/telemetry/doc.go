// Package telemetry tells what the program is doing: metrics for a scraper, traces, and log lines that can be
// tied to both.
//
// [Start] makes one [Telemetry], which the program hands to whoever measures something:
//
//	tel, err := telemetry.Start(ctx, telemetry.Config{Service: "shop", Version: "v1.2.0", Replica: "web-1"})
//	router.Handle("/metrics", tel.Handler())
//	orders, err := tel.Meter("shop").Int64Counter("orders.placed")
//	ctx, span := tel.Tracer("shop").Start(ctx, "price order")
//
// Nothing is registered globally: two of them live side by side in one process, as tests want. What is to be
// measured nowhere gets [Discard].
//
// Metrics are Prometheus text, pulled from /metrics. Their size is bounded whatever clients send: a series
// belongs to a route, never to a path, a host or an unknown method, and a metric that grows beyond
// [CardinalityLimit] series folds the rest into one. Durations are in seconds.
//
// Traces follow W3C trace context. Without a span processor no span leaves the process, yet every span has its
// ids: [NewLogger] writes them, together with the correlation id and the user, into each line that is logged
// with a context, so that one search brings up everything that a request has caused, in any process.
//
// [Secret] is the type of a setting that must not be seen in any of this.
package telemetry
