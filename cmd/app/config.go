package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/ratelimit"
	"example.com/plenary/platform/telemetry"
)

// Role says which part of the program a process does.
type Role string

// The roles.
const (
	RoleAll    Role = "all"    // serves HTTP and works
	RoleWeb    Role = "web"    // serves HTTP; what it schedules others run
	RoleWorker Role = "worker" // works; of HTTP it serves the probes and metrics
)

// Config is everything that can be set, from the environment. It is checked as a whole before anything starts.
// docs/reference/configuration.md and .env.example are made of it: `make docs`.
type Config struct {
	// Addresses.
	HTTPAddr string `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080"` // where to listen
	BaseURL  string `env:"BASE_URL"`                              // where people reach the pages, for links in mails; default http:// and HTTP_ADDR

	// Databases.
	DatabaseURL           telemetry.Secret `env:"DATABASE_URL"`            // the default database, for users, sessions and every module without its own
	SalesDatabaseURL      telemetry.Secret `env:"SALES_DATABASE_URL"`      // a database of its own for Sales; default: the same as DATABASE_URL
	ConferenceDatabaseURL telemetry.Secret `env:"CONFERENCE_DATABASE_URL"` // the same for Conference
	EngagementDatabaseURL telemetry.Secret `env:"ENGAGEMENT_DATABASE_URL"` // the same for Engagement

	// Databases, as their owner.
	MigrationDatabaseURL           telemetry.Secret `env:"MIGRATION_DATABASE_URL"`            // as the owner of the schemas, who migrates; default: the same as DATABASE_URL
	SalesMigrationDatabaseURL      telemetry.Secret `env:"SALES_MIGRATION_DATABASE_URL"`      // the owner's for that module's database; default: the same as SALES_DATABASE_URL
	ConferenceMigrationDatabaseURL telemetry.Secret `env:"CONFERENCE_MIGRATION_DATABASE_URL"` // the owner's for that module's database; default: the same as CONFERENCE_DATABASE_URL
	EngagementMigrationDatabaseURL telemetry.Secret `env:"ENGAGEMENT_MIGRATION_DATABASE_URL"` // the owner's for that module's database; default: the same as ENGAGEMENT_DATABASE_URL

	// Connections.
	MaxConns int `env:"DATABASE_MAX_CONNS" envDefault:"16"` // connections a database for the modules' work, 2 to 1000; a few more are kept apart for claims and the listener

	// Development and demo.
	DataDir string `env:"DATA_DIR" envDefault:".data"` // what dev and the built-in inbox keep
	Demo    bool   `env:"DEMO"`                        // demo users, data, switches and the built-in inbox

	// Mail.
	SMTPURL  telemetry.Secret `env:"SMTP_URL"`                                                 // where mail goes: smtps://user:pass@host:465, or smtp://host:587 with STARTTLS; ?tls=opportunistic or ?tls=none loosens it
	MailFrom string           `env:"MAIL_FROM" envDefault:"Plenary <tickets@plenary.example>"` // the sender of every mail

	// Orders and payments.
	OrderExpiresAfter time.Duration `env:"ORDER_EXPIRES_AFTER" envDefault:"30m"` // how long an order waits for its payment, 1s to 24h
	GatewayTimeout    time.Duration `env:"GATEWAY_TIMEOUT" envDefault:"5s"`      // one call to the payment gateway, 100ms to 8s

	// Rooms.
	RoomSigningKey telemetry.Secret `env:"ROOM_SIGNING_KEY"` // signs the tokens of voters without an account, at least 32 bytes, the same for all replicas; default: one that the database made for itself

	// Scoring of proposed sessions.
	ScoringAPIKey  telemetry.Secret `env:"ANTHROPIC_API_KEY"`                // the key of the model's service; without one a built-in rule scores, which asks no model
	ScoringModel   string           `env:"SCORING_MODEL"`                    // the model's name; default: the one that the program was tried with
	ScoringBaseURL string           `env:"SCORING_BASE_URL"`                 // another address of the service
	ScoringTimeout time.Duration    `env:"SCORING_TIMEOUT" envDefault:"60s"` // one call to the model, 1s to 5m
	ScoresAtOnce   int              `env:"SCORES_AT_ONCE" envDefault:"4"`    // calls to the model at a time, 1 to 32

	// Work.
	Role         Role          `env:"PROCESS_ROLE" envDefault:"all"`  // all, web (serves HTTP, works nothing off) or worker (works; of HTTP it has the probes and metrics)
	Lease        time.Duration `env:"LEASE" envDefault:"30s"`         // how long a claim holds without being renewed, 1s to 1h
	SafetyPoll   time.Duration `env:"SAFETY_POLL" envDefault:"30s"`   // the net under lost wake-ups, 1s to 1h
	UnknownGrace time.Duration `env:"UNKNOWN_GRACE" envDefault:"30s"` // before work that no replica knows is dead-lettered, 0s to 24h
	StopGrace    time.Duration `env:"STOP_GRACE" envDefault:"7s"`     // for running work, when the process is told to stop, 0s to 7s
	Workers      int           `env:"WORKERS" envDefault:"16"`        // commands that run at once, and as many deliveries, 1 to 1000

	// Jobs and retention.
	JobSchedules jobSchedules  `env:"JOB_SCHEDULES"`                        // other schedules than the program's, like "audit-trail-cleanup=0 4 * * * Europe/Berlin; sales.reconcile_payments=@every 30m"
	KeepFinished time.Duration `env:"KEEP_FINISHED_WORK" envDefault:"336h"` // commands and events that are done, 1h to 87600h; dead letters stay
	KeepRuns     time.Duration `env:"KEEP_JOB_RUNS" envDefault:"2160h"`     // the history of jobs, 1h to 87600h
	KeepAudit    time.Duration `env:"KEEP_AUDIT_TRAIL" envDefault:"2160h"`  // the audit trail, 24h to 87600h

	// HTTP.
	TrustedOrigins []string `env:"TRUSTED_ORIGINS"` // other origins that may act by cookie, separated by commas
	TrustedProxies []string `env:"TRUSTED_PROXIES"` // networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, like 10.0.0.0/8
	SecureCookies  bool     `env:"SECURE_COOKIES"`  // true if TLS ends in front of the program
	Features       string   `env:"FEATURES"`        // switches, like "name=off,other=on"

	// Rate limits.
	RateLimitUser    ratelimit.Rate `env:"RATE_LIMIT_USER" envDefault:"100/s burst 200"`    // requests of one user
	RateLimitAddress ratelimit.Rate `env:"RATE_LIMIT_ADDRESS" envDefault:"300/s burst 600"` // anonymous requests from one network
	RateLimitHall    ratelimit.Rate `env:"RATE_LIMIT_HALL" envDefault:"1000/s burst 6000"`  // anonymous requests to live rooms from one network: a hall of people
	RateLimitLogin   ratelimit.Rate `env:"RATE_LIMIT_LOGIN" envDefault:"10/min burst 20"`   // sign-ins that fail, from one network

	// Log.
	LogLevel  slog.Level `env:"LOG_LEVEL" envDefault:"info"`  // debug, info, warn or error
	LogFormat string     `env:"LOG_FORMAT" envDefault:"text"` // text or json
}

// readConfig reads the environment and reports everything that is wrong with it at once.
func readConfig(environ map[string]string) (Config, error) {
	config, err := env.ParseAsWithOptions[Config](env.Options{Environment: environ})
	if err != nil {
		return Config{}, fault.Wrap(err, fault.Invalid, "configuration", "the configuration is not valid")
	}
	if config.BaseURL == "" {
		config.BaseURL = "http://" + config.HTTPAddr
	}
	config.BaseURL = strings.TrimRight(config.BaseURL, "/")
	return config, config.validate()
}

func (c Config) validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	_, _, err := net.SplitHostPort(c.HTTPAddr)
	check(err == nil, "HTTP_ADDR must look like 127.0.0.1:8080")
	base, err := url.Parse(c.BaseURL)
	check(err == nil && (base.Scheme == "http" || base.Scheme == "https") && base.Host != "", "BASE_URL must look like https://tickets.example.com")
	_, err = httpx.ParseProxies(c.TrustedProxies)
	check(err == nil, "TRUSTED_PROXIES must be addresses or networks like 10.0.0.0/8, and not all of them")
	for _, origin := range c.TrustedOrigins {
		check(http.NewCrossOriginProtection().AddTrustedOrigin(origin) == nil, "TRUSTED_ORIGINS must be origins like https://app.example.com")
	}
	check(c.MaxConns >= 2 && c.MaxConns <= 1000, "DATABASE_MAX_CONNS must be 2 to 1000")
	check(c.Workers >= 1 && c.Workers <= 1000, "WORKERS must be 1 to 1000")
	check(c.RoomSigningKey == "" || len(c.RoomSigningKey) >= engagement.MinSigningKey, "ROOM_SIGNING_KEY must have at least 32 bytes")
	check(c.ScoresAtOnce >= 1 && c.ScoresAtOnce <= 32, "SCORES_AT_ONCE must be 1 to 32")
	for _, d := range []struct {
		name        string
		value       time.Duration
		least, most time.Duration
	}{
		{"ORDER_EXPIRES_AFTER", c.OrderExpiresAfter, time.Second, 24 * time.Hour},
		{"GATEWAY_TIMEOUT", c.GatewayTimeout, 100 * time.Millisecond, 8 * time.Second},
		{"LEASE", c.Lease, time.Second, time.Hour},
		{"SAFETY_POLL", c.SafetyPoll, time.Second, time.Hour},
		{"UNKNOWN_GRACE", c.UnknownGrace, 0, 24 * time.Hour},
		{"STOP_GRACE", c.StopGrace, 0, maxStopGrace},
		{"SCORING_TIMEOUT", c.ScoringTimeout, time.Second, 5 * time.Minute},
		{"KEEP_FINISHED_WORK", c.KeepFinished, time.Hour, 87600 * time.Hour},
		{"KEEP_JOB_RUNS", c.KeepRuns, time.Hour, 87600 * time.Hour},
		{"KEEP_AUDIT_TRAIL", c.KeepAudit, 24 * time.Hour, 87600 * time.Hour},
	} {
		check(d.value >= d.least && d.value <= d.most, "%s must be %v to %v", d.name, d.least, d.most)
	}
	check(slices.Contains([]Role{RoleAll, RoleWeb, RoleWorker}, c.Role), "PROCESS_ROLE must be all, web or worker")
	check(slices.Contains([]string{"text", "json"}, c.LogFormat), "LOG_FORMAT must be text or json")
	if len(problems) == 0 {
		return nil
	}
	return fault.Wrap(errors.Join(problems...), fault.Invalid, "configuration", "the configuration is not valid")
}

// forServing checks what only a serving process needs.
func (c Config) forServing() error {
	if c.DatabaseURL == "" {
		return errNoDatabase
	}
	if c.SMTPURL == "" && !c.Demo && c.works() {
		return fault.New(fault.Invalid, "configuration",
			"SMTP_URL is not set: name a mail server like smtps://user:password@host:465, or set DEMO=true for the built-in inbox")
	}
	return nil
}

func (c Config) works() bool      { return c.Role != RoleWeb }
func (c Config) servesHTTP() bool { return c.Role != RoleWorker }

// mailTimeout keeps an attempt to send a mail below the lease of the command that sends it.
func (c Config) mailTimeout() time.Duration { return min(10*time.Second, c.Lease*2/3) }
