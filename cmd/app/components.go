package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"example.com/plenary/platform/host"
	"example.com/plenary/platform/httpx"
)

// wireHost lists the parts of the program in the order in which they start. They stop in reverse: HTTP takes no
// more requests, running work ends or is given back, the last wake-ups go out, and the databases go last.
func (a *App) wireHost() {
	a.host = host.New(host.Config{Logger: a.logger})
	a.host.Add(host.Component{Name: "telemetry", Stop: a.telemetry.Shutdown})
	a.host.Add(host.Component{
		Name: "databases", Start: a.startDatabases, Ready: a.databasesReady,
		Stop: func(context.Context) error { a.databases.close(); return nil },
	})
	if a.inbox != nil {
		a.host.Add(host.Component{Name: "inbox", Stop: a.inbox.Shutdown})
	}
	a.host.Add(host.Component{Name: "wake bus", Run: a.bus.Run})
	if a.config.works() {
		a.host.Add(host.Component{Name: "clock", Run: a.runClocks})
	}
	a.host.Add(host.Component{Name: "work", Run: a.runWork, StopTimeout: a.config.StopGrace + workStopMargin})
	server := httpx.NewServer(a.config.HTTPAddr, a.handler(), a.logger)
	serve := host.HTTPServer("http", server, a.listener)
	serve.StopTimeout = httpStopTimeout
	a.host.Add(serve)
}

// How the time for stopping, 18 s in all, is shared out: a request may wait for the payment gateway, running
// work has STOP_GRACE and some time to be given back, and what is left is ample for the rest.
const (
	httpStopTimeout = 6 * time.Second
	workStopMargin  = 3500 * time.Millisecond
	maxStopGrace    = 7 * time.Second
)

// runWork runs the work of all databases, and the rooms that people watch: they end at the same time, each of them slowly.
func (a *App) runWork(ctx context.Context) error {
	var loops []loop
	if a.config.servesHTTP() {
		loops = append(loops, a.hub)
	}
	if a.config.works() {
		for _, runner := range a.runners {
			loops = append(loops, runner)
		}
	}
	return runAll(ctx, loops)
}

func (a *App) runClocks(ctx context.Context) error { return runAll(ctx, a.clocks) }

type loop interface {
	Run(ctx context.Context) error
}

// runAll runs loops until all of them have ended.
func runAll[L loop](ctx context.Context, loops []L) error {
	var all sync.WaitGroup
	errs := make([]error, len(loops))
	for i, loop := range loops {
		all.Go(func() { errs[i] = loop.Run(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// handler serves the API, and what machines ask for: that looks up no session and fills no log.
func (a *App) handler() http.Handler {
	probes, metrics := a.api.SecurityHeaders(a.host.Handler()), a.api.SecurityHeaders(a.telemetry.Handler())
	served := a.site.Wrap(a.api)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/metrics":
			metrics.ServeHTTP(w, r)
		case r.URL.Path == "/healthz", r.URL.Path == "/readyz", r.URL.Path == "/version", !a.config.servesHTTP():
			probes.ServeHTTP(w, r)
		default:
			served.ServeHTTP(w, r)
		}
	})
}

func (a *App) startDatabases(ctx context.Context) error {
	if err := a.databases.prepare(ctx); err != nil {
		return err
	}
	if err := a.events.SaveSubscriptions(ctx, a.databases.sources); err != nil {
		return err
	}
	if err := a.engagement.Start(ctx); err != nil {
		return err
	}
	for _, clock := range a.clocks {
		if err := clock.Start(ctx); err != nil {
			return err
		}
	}
	if a.config.Demo {
		return a.seed(ctx)
	}
	return nil
}

func (a *App) databasesReady(ctx context.Context) error {
	for _, p := range a.databases.all {
		if err := p.check(ctx); err != nil {
			return err
		}
	}
	return nil
}
