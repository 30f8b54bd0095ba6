// Package host starts the parts of a program in order, says whether they are fit for work, and stops them in
// reverse order within a time that is known in advance.
//
//	h := host.New(host.Config{Logger: logger})
//	h.Add(
//		host.Component{Name: "database", Start: pool.Open, Stop: pool.Close, Ready: pool.Ping},
//		host.Component{Name: "processor", Run: processor.Run, Stop: processor.Drain},
//		host.HTTPServer("http", server, listener),
//	)
//	if err := h.RunUntilSignal(ctx); err != nil {
//		os.Exit(1) // h has logged why
//	}
//
// What others need comes first. The last to start is the first to stop: the server takes no more requests, then
// the processor finishes what it has begun, and the database, which both need to finish, goes last.
//
// A [Component] has up to four functions. Start returns once it works, Run works until its context ends, Stop
// ends it in order, Ready tells whether it can do its work now. A Run that ends before it was asked to, by an
// error, a panic or just so, brings the program down: a supervisor's restart is better than a half that looks
// whole.
//
// Stopping has a budget (Config.StopTimeout). Within it each component has its own time: what it asks for, or
// an equal share of the rest. One that does not stop in its time is left behind, so that the others get theirs.
// A second signal ends the process at once.
//
// [Host.Handler] serves three answers: /healthz (the process lives), /readyz (it can work: everything has
// started, every check passes, it is not stopping) and /version. A load balancer watches /readyz.
package host
