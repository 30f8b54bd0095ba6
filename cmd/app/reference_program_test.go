package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/identity"
)

// The routes, commands, events and roles come from the registries of the program as it is wired for the demo; the
// codes of errors from the places in the source where they arise.
func TestReferenceProgram(t *testing.T) {
	t.Parallel()
	app := wiredForDemo(t)
	var b strings.Builder
	b.WriteString("# What the program consists of\n\nGenerated from its registries and its source by `make docs`; a test fails when it is stale. " +
		"`app map` prints\nmost of it for a running configuration. The API with every field is described at `/api/openapi.json`.\n")
	writeRoutes(&b, app)
	writeCommands(&b, app)
	writeRoles(&b, app)
	writeErrors(t, &b)
	generated(t, "docs/reference/program.md", b.String())
}

// wiredForDemo is the program with all its routes. Nothing of it runs, and no database is asked.
func wiredForDemo(t *testing.T) *App {
	t.Helper()
	config, err := readConfig(map[string]string{
		"DEMO": "true", "DATA_DIR": t.TempDir(), "HTTP_ADDR": "127.0.0.1:0", "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
	})
	if err != nil {
		t.Fatal(err)
	}
	app, err := New(t.Context(), config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.closeUnstarted)
	return app
}

// The requests of api/*.http go to routes that there are, and every route has one.
func TestReferenceRequestsAreLive(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../api/*.http")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no api/*.http", err)
	}
	request := regexp.MustCompile(`(?m)^(GET|POST|PUT|PATCH|DELETE) \{\{api\}\}([^?\s]*)`)
	variable := regexp.MustCompile(`\{\{[^}]*\}\}`)
	var sent []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range request.FindAllStringSubmatch(string(text), -1) {
			sent = append(sent, r[1]+" /api/v1"+variable.ReplaceAllString(r[2], "x"))
		}
	}
	parameter := regexp.MustCompile(`\\\{[^}]*\\\}`)
	answered := map[string]bool{}
	for _, route := range wiredForDemo(t).api.Routes() {
		pattern := regexp.MustCompile("^" + parameter.ReplaceAllString(regexp.QuoteMeta(route.Method+" "+route.Path), "[^/]+") + "$")
		found := false
		for _, s := range sent {
			if pattern.MatchString(s) {
				found, answered[s] = true, true
			}
		}
		if !found {
			t.Errorf("no file in api/ shows %s %s", route.Method, route.Path)
		}
	}
	for _, s := range sent {
		if !answered[s] {
			t.Errorf("a file in api/ sends %s, and there is no such route", s)
		}
	}
}

func writeRoutes(b *strings.Builder, app *App) {
	b.WriteString("\n## Routes\n\nRoutes marked with a key take an `Idempotency-Key`: [idempotency](../idempotency.md).\n\n| route | who | key | |\n|---|---|---|---|\n")
	for _, r := range app.api.Routes() {
		who, key := "anyone", ""
		switch {
		case r.Permission != "":
			who = "`" + string(r.Permission) + "`"
		case r.SignedIn:
			who = "signed in"
		}
		if r.Method == http.MethodPost && r.NonIdempotent == "" {
			key = "key"
		}
		fmt.Fprintf(b, "| `%s %s` | %s | %s | %s |\n", r.Method, r.Path, who, key, escaped(r.Summary))
	}
}

func writeCommands(b *strings.Builder, app *App) {
	infos := slices.Clone(app.pipeline.Registered())
	slices.SortStableFunc(infos, func(a, b command.Info) int {
		return cmp.Or(cmp.Compare(a.Source.Name(), b.Source.Name()), cmp.Compare(a.Policy.Name, b.Policy.Name))
	})
	b.WriteString("\n## Commands and queries\n\nA transactional command runs in one transaction; one outside calls the network and opens short ones of its own.\n\n" +
		"| name | kind | source | permission | may run later |\n|---|---|---|---|---|\n")
	for _, info := range infos {
		if info.Kind == command.Event {
			continue
		}
		permission, later := "", ""
		if info.Policy.Permission != "" {
			permission = "`" + string(info.Policy.Permission) + "`"
		}
		if slices.Contains(app.commands.Names(), info.Policy.Name) {
			later = "yes"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", info.Policy.Name, info.Kind, info.Source.Name(), permission, later)
	}
	b.WriteString("\n## Events\n\n| event | handler |\n|---|---|\n")
	for _, line := range app.events.Handlers() {
		event, handler, _ := strings.Cut(line, " → ")
		fmt.Fprintf(b, "| `%s` | `%s` |\n", event, handler)
	}
}

func writeRoles(b *strings.Builder, app *App) {
	b.WriteString("\n## Roles\n\n| role | may |\n|---|---|\n")
	for _, role := range []string{"customer", "organizer", "viewer", "operator", "admin"} {
		var granted []string
		for _, p := range app.permissions.Of(identity.Principal{ID: "someone", Roles: []string{role}}) {
			granted = append(granted, "`"+string(p)+"`")
		}
		fmt.Fprintf(b, "| %s | %s |\n", role, strings.Join(granted, ", "))
	}
}
