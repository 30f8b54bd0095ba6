package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"example.com/plenary/modules/conference"
	"example.com/plenary/modules/engagement"
	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/audit"
	"example.com/plenary/platform/cache"
	"example.com/plenary/platform/command"
	"example.com/plenary/platform/feature"
	"example.com/plenary/platform/host"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity"
	"example.com/plenary/platform/identity/login"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/later/schedule"
	"example.com/plenary/platform/live"
	"example.com/plenary/platform/mail/inbox"
	"example.com/plenary/platform/ops"
	"example.com/plenary/platform/telemetry"
	"example.com/plenary/platform/wake"
	"example.com/plenary/web"
)

// topics of the wake bus.
const (
	topicWork  = "work"  // the key is a database's name
	topicEvict = "evict" // the key is a cache key
	topicJobs  = "jobs"  // the key is a database's name
	topicLocks = "locks" // the key is a lock's name
	topicLive  = "live"  // the key is a room's code
)

// App is the program, wired and not yet started.
type App struct {
	config      Config
	logger      *slog.Logger
	telemetry   *telemetry.Telemetry
	databases   *databases
	bus         *wake.Bus
	cache       *cache.Cache
	features    *feature.Flags
	permissions *identity.Permissions
	pipeline    *command.Pipeline
	commands    *internalcommand.Queue
	events      *outbox.Box
	jobs        *schedule.Schedule
	runners     []*lease.Runner
	clocks      []*schedule.Clock
	inbox       *inbox.Server // with the demo's mail, or nil
	faults      *demoFaults
	login       *login.Service
	sales       *sales.Module
	conference  *conference.Module
	engagement  *engagement.Module
	hub         *live.Hub
	console     *ops.Console
	api         *httpx.API
	site        *web.Site
	host        *host.Host
	listener    net.Listener
}

// New wires the program: the platform, then the modules, then what starts and stops them. Nothing runs yet and
// no database is asked; what it opened, Run closes.
func New(ctx context.Context, config Config, logger *slog.Logger) (app *App, err error) {
	a := &App{
		config: config, logger: logger, cache: cache.New(cache.Config{}), features: &feature.Flags{}, permissions: &identity.Permissions{},
		faults: &demoFaults{die: dieNow},
	}
	defer func() {
		if err != nil {
			a.closeUnstarted()
		}
	}()
	replica := lease.ThisReplica(host.Version().Version)
	if a.telemetry, err = telemetry.Start(ctx, telemetry.Config{
		Service: "plenary", Version: replica.Version, Replica: replica.ID.String(),
	}); err != nil {
		return nil, err
	}
	if a.databases, err = openDatabases(ctx, config, logger); err != nil {
		return nil, err
	}
	a.wirePlatform()
	if err := a.wireModules(); err != nil {
		return nil, err
	}
	if err := a.features.Configure(config.Features); err != nil {
		return nil, err
	}
	if err := a.configureJobs(); err != nil {
		return nil, err
	}
	if err := a.wireRunners(replica); err != nil {
		return nil, err
	}
	a.wireClocks()
	if a.listener, err = host.Listen(config.HTTPAddr); err != nil {
		return nil, err
	}
	a.wireHTTP()
	if err := a.wirePages(); err != nil {
		return nil, err
	}
	a.wireHost()
	return a, nil
}

// wirePlatform makes what the modules stand on.
func (a *App) wirePlatform() {
	a.bus = wake.New(wake.Config{Database: a.databases.all[0].db, Logger: a.logger})
	a.bus.Subscribe(topicEvict, func(key string) {
		if key == "" {
			a.cache.Flush()
		} else if err := a.cache.Evict(key); err != nil {
			a.logger.Error("stale results could not be evicted", slog.Any("error", err))
		}
	})
	wakeUp := func(database string) { a.bus.Send(topicWork, database) }
	a.pipeline = command.New(command.Deps{
		Features: a.features, Permissions: a.permissions, Logger: a.logger, Cache: a.cache,
		Meter: a.telemetry.Meter("command"), Tracer: a.telemetry.Tracer("command"),
		Evict: func(_ context.Context, keys []string) {
			for _, key := range keys {
				a.bus.Send(topicEvict, key)
			}
		},
	})
	a.commands = internalcommand.New(a.pipeline, wakeUp)
	a.events = outbox.New(a.pipeline, wakeUp)
	a.jobs = schedule.New(a.pipeline, a.commands, func(database string) { a.bus.Send(topicJobs, database) })
	a.console = ops.New(ops.Deps{
		Databases: a.databases.list(), Pipeline: a.pipeline, Wake: wakeUp, Sources: a.databases.sources, Logger: a.logger,
		Commands: a.commands, Jobs: a.jobs, Permissions: a.permissions, Keep: ops.Keep{Finished: a.config.KeepFinished, Runs: a.config.KeepRuns},
	})
}

// wireModules makes the modules, and grants what the roles may do in them.
func (a *App) wireModules() error {
	a.permissions.GrantEverything("admin")
	ops.Grant(a.permissions)
	sales.Grant(a.permissions)
	conference.Grant(a.permissions)
	engagement.Grant(a.permissions)

	cleaner, err := audit.NewCleaner(audit.Deps{
		Pipeline: a.pipeline, Databases: a.databases.places(), Keep: a.config.KeepAudit, Logger: a.logger,
	})
	if err != nil {
		return err
	}
	internalcommand.Register(a.commands, cleaner.Clean)
	a.jobs.Register("audit-trail-cleanup", "0 3 * * *", audit.Cleanup{})
	guessing := login.DefaultLimits()
	guessing.Network = a.config.RateLimitLogin
	a.login, err = login.New(login.Deps{
		Source: a.databases.sources["platform"], Pipeline: a.pipeline, Permissions: a.permissions, Limits: guessing,
	})
	if err != nil {
		return err
	}
	if err := a.wireSales(); err != nil {
		return err
	}
	if err := a.wireConference(); err != nil {
		return err
	}
	return a.wireEngagement()
}

// wireHTTP declares every route.
func (a *App) wireHTTP() {
	limits := newLimits(a.config)
	proxies, _ := httpx.ParseProxies(a.config.TrustedProxies) // the configuration is valid
	a.api = httpx.NewAPI(httpx.Config{
		Title: "Plenary", Version: "1", Authenticator: a.engagement.Authenticator(limitedLookups{a.login, limits}), Permissions: a.permissions, Log: a.logger,
		Limit: func(next http.Handler) http.Handler { return a.engagement.Voters(limits.wrap(next)) }, TrustedProxies: proxies,
		TrustedOrigins: a.config.TrustedOrigins, SecureCookies: a.config.SecureCookies,
		Observe: func(method, route string, status int, d time.Duration) {
			a.telemetry.RecordRequest(route, method, status, d)
		},
	})
	a.login.Routes(a.api)
	a.sales.Routes(a.api)
	a.conference.Routes(a.api)
	a.engagement.Routes(a.api)
	a.wireLive()
	a.console.Routes(a.api)
	if a.config.Demo {
		a.demoRoutes()
	}
}

// Run starts the program, and stops it in order when ctx ends or a signal comes. It returns nil after a clean
// stop; the log has the reason for anything else.
func (a *App) Run(ctx context.Context) error {
	if err := a.host.RunUntilSignal(ctx); err != nil {
		return &logged{err}
	}
	return nil
}

// logged is an error that the log has told already.
type logged struct{ error }

func (e *logged) Unwrap() error { return e.error }

// Address returns the address at which HTTP is served.
func (a *App) Address() string { return a.listener.Addr().String() }

func (a *App) closeUnstarted() {
	if a.inbox != nil {
		a.inbox.Close()
	}
	if a.listener != nil {
		_ = a.listener.Close()
	}
	if a.databases != nil {
		a.databases.close()
	}
}
