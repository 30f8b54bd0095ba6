package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"example.com/plenary/platform/host"
)

// What a check of the doctor comes to.
const (
	fine     = "ok"
	doubtful = "warn"
	failed   = "fail"
)

// checkLimit bounds each look at another system.
const checkLimit = 5 * time.Second

// doctor looks at what the program needs, changes nothing, and says what to do. No line of it holds a secret: the
// text of an error that might quote one is never printed.
type doctor struct {
	config  Config
	environ map[string]string
	out     io.Writer
	sick    bool
}

// runDoctor prints one line a check, and returns an error if a check has failed. It works with nothing configured.
func runDoctor(ctx context.Context, environ map[string]string, out io.Writer) error {
	d := &doctor{environ: environ, out: out}
	d.say(fine, "version", "%s, %s", host.Version().Version, host.Version().Go)
	d.checkConfiguration()
	d.checkNames()
	d.checkHTTP(ctx)
	d.checkDatabases(ctx)
	d.checkPrograms(ctx)
	d.checkDataDir(ctx)
	d.checkMail(ctx)
	d.checkZones()
	if d.sick {
		return &logged{errors.New("not everything is in order")}
	}
	return nil
}

func (d *doctor) say(verdict, what, format string, args ...any) {
	d.sick = d.sick || verdict == failed
	fmt.Fprintf(d.out, "%-4s  %-14s  %s\n", verdict, what, fmt.Sprintf(format, args...))
}

// checkConfiguration reports every mistake, and leaves the doctor with what could be understood.
func (d *doctor) checkConfiguration() {
	config, err := env.ParseAsWithOptions[Config](env.Options{Environment: d.environ})
	if config.BaseURL == "" {
		config.BaseURL = "http://" + config.HTTPAddr
	}
	d.config = config
	var problems []string
	if wrong, ok := errors.AsType[env.AggregateError](err); ok {
		for _, e := range wrong.Errors {
			problems = append(problems, wanted(e))
		}
	}
	for _, problem := range flatten(config.validate()) {
		name, _, _ := strings.Cut(problem, " ")
		// What was not understood has no value that could be checked.
		if !slices.ContainsFunc(problems, func(told string) bool { return strings.HasPrefix(told, name+" ") }) {
			problems = append(problems, problem)
		}
	}
	for _, problem := range problems {
		d.say(failed, "configuration", "%s", problem)
	}
	if len(problems) == 0 {
		set := 0
		for _, name := range settingNames() {
			if d.environ[name] != "" {
				set++
			}
		}
		d.say(fine, "configuration", "%d settings, %d of them set in the environment", len(settingNames()), set)
	}
}

// wanted says what a setting should have been, and not what it is: that may be a password in the wrong place.
func wanted(err error) string {
	wrong, ok := errors.AsType[env.ParseError](err)
	if !ok {
		return "a setting cannot be understood"
	}
	field, _ := reflect.TypeFor[Config]().FieldByName(wrong.Name)
	want := "must look like " + field.Tag.Get("envDefault")
	switch field.Type {
	case reflect.TypeFor[bool]():
		want = "must be true or false"
	case reflect.TypeFor[int]():
		want = "must be a whole number"
	case reflect.TypeFor[time.Duration]():
		want = "must be a duration like 500ms, 30s or 2h"
	case reflect.TypeFor[slog.Level]():
		want = "must be debug, info, warn or error"
	}
	return field.Tag.Get("env") + " " + want
}

// flatten returns the texts of the errors that an error joins.
func flatten(err error) []string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if joined, ok := e.(interface{ Unwrap() []error }); ok {
			var all []string
			for _, part := range joined.Unwrap() {
				all = append(all, flatten(part)...)
			}
			return all
		}
	}
	if err == nil {
		return nil
	}
	return []string{err.Error()}
}

// settingNames lists what can be set, in the order of Config.
func settingNames() []string {
	var names []string
	for field := range reflect.TypeFor[Config]().Fields() {
		if name := field.Tag.Get("env"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// checkNames looks for variables that are almost settings: a misspelt one has no effect, and nobody says so.
func (d *doctor) checkNames() {
	known := settingNames()
	for _, name := range slices.Sorted(maps.Keys(d.environ)) {
		if slices.Contains(known, name) {
			continue
		}
		for _, setting := range known {
			if near(name, setting) {
				d.say(doubtful, "configuration", "%s is no setting: did you mean %s?", name, setting)
				break
			}
		}
	}
}

// near reports whether two names differ by a slip of the fingers: one letter, or two in a long name.
func near(a, b string) bool {
	limit := 1
	if len(b) >= 10 {
		limit = 2
	}
	return len(b) > 3 && distance(strings.ToUpper(a), b) <= limit
}

// distance counts the letters to insert, drop, replace or swap with their neighbour that lead from a to b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// checkMail makes sure that the mail server can be reached. It says nothing to it.
func (d *doctor) checkMail(ctx context.Context) {
	if d.config.SMTPURL == "" {
		switch {
		case d.config.Demo:
			d.say(fine, "mail", "goes to the built-in inbox")
		case !d.config.works():
			d.say(fine, "mail", "a web process sends none")
		default:
			d.say(doubtful, "mail", "SMTP_URL is not set: app dev has an inbox of its own, app serve needs a server, or DEMO=true")
		}
		return
	}
	address, err := mailAddress(d.config)
	if err != nil {
		d.say(failed, "mail", "%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		d.say(failed, "mail", "%s cannot be reached (%s): check SMTP_URL, its port and the firewall", address, reason(err))
		return
	}
	_ = conn.Close()
	d.say(fine, "mail", "%s can be reached", address)
}

// checkZones makes sure that schedules in any time zone can be understood.
func (d *doctor) checkZones() {
	for _, name := range []string{"Europe/Berlin", "Asia/Kolkata", "America/Argentina/Buenos_Aires"} {
		if _, err := time.LoadLocation(name); err != nil {
			d.say(failed, "time zones", "%s is unknown: build the program with its time zones (time/tzdata)", name)
			return
		}
	}
	d.say(fine, "time zones", "all known; times are stored and shown in UTC, whatever TZ says")
}
