package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// placeholder is what fmt fills in.
var placeholder = regexp.MustCompile(`%[-+#0-9.]*[a-zA-Z]`)

var update = flag.Bool("update", false, "write the generated documents anew")

// generated compares a document with what it should be, or writes it: `make docs`.
func generated(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join("../..", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is stale; `make docs` writes it anew (-want +have):\n%s", name, diff)
	}
}

// setting is one field of Config, as its source tells it.
type setting struct {
	name, value, comment string
	kind                 string
	section              string // of the fields from here on, if it is the first of them
}

// readSettings reads the struct's source: its tags and comments are the one place where settings are explained.
func readSettings(t *testing.T) []setting {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	object := file.Scope.Lookup("Config")
	if object == nil {
		t.Fatal("there is no type Config in config.go")
	}
	var settings []setting
	for _, field := range object.Decl.(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
		text, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			t.Fatal(err)
		}
		tag := reflect.StructTag(text)
		s := setting{name: tag.Get("env"), value: tag.Get("envDefault"), comment: strings.TrimSpace(field.Comment.Text())}
		s.section = strings.TrimSuffix(strings.TrimSpace(field.Doc.Text()), ".")
		typed, _ := reflect.TypeFor[Config]().FieldByName(field.Names[0].Name)
		switch {
		case typed.Type.Name() == "Secret":
			s.kind = "secret"
		case typed.Type == reflect.TypeFor[time.Duration]():
			s.kind = "duration"
		case typed.Type.Kind() == reflect.Bool:
			s.kind = "true or false"
		case typed.Type.Kind() == reflect.Int && typed.Type.Name() == "int":
			s.kind = "number"
		case typed.Type.Kind() == reflect.Slice:
			s.kind = "list"
		default:
			s.kind = "text"
		}
		if s.name == "" || s.comment == "" {
			t.Errorf("config.go: %s needs a name and a comment on its line", field.Names[0].Name)
		}
		settings = append(settings, s)
	}
	return settings
}

func TestReferenceConfiguration(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`# Configuration

Generated from [cmd/app/config.go](../../cmd/app/config.go) by ` + "`make docs`" + `; a test fails when it is stale.

Settings are environment variables. They are checked as a whole before anything starts, and every mistake is named at once;
` + "`app doctor`" + ` tries out what they lead to, and finds misspelt ones. Durations look like ` + "`500ms`, `30s`, `2h`" + `, lists are separated by
commas. A secret is never printed or logged.
`)
	for _, s := range readSettings(t) {
		if s.section != "" {
			fmt.Fprintf(&b, "\n## %s\n\n| variable | kind | default | |\n|---|---|---|---|\n", s.section)
		}
		value := ""
		if s.value != "" {
			value = "`" + s.value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.name, s.kind, value, escaped(s.comment))
	}
	b.WriteString(`
## Not read by the program itself

| variable | read by | |
|---|---|---|
| ` + "`APP_PORT`" + ` | compose.yaml | the port on this machine, default 8080 |
| ` + "`DATABASE_PASSWORD`" + ` | compose.yaml, scripts/database-roles.sql | of the database's roles, default ` + "`plenary`" + `; letters and digits, since it becomes part of a URL |
| ` + "`VERSION`" + ` | compose.yaml | what ` + "`/version`" + ` says of the image that is built |
| ` + "`DEVPG_BIN`" + ` | ` + "`app dev`, tests" + ` | folder of PostgreSQL's programs, if they are not found or not the right ones |
| ` + "`TEST_DATABASE_URL`" + ` | tests | a superuser on a server that tests may use; otherwise they start one |
`)
	generated(t, "docs/reference/configuration.md", b.String())
}

func escaped(cell string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(cell)
}

func TestReferenceEnvExample(t *testing.T) {
	t.Parallel()
	generated(t, ".env.example", envExample(t))
}

func envExample(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# Every setting of the program, with its default. Generated from cmd/app/config.go by "make docs".
#
# cp .env.example .env, and take the # away from what you change. docker compose reads that file; a shell does so with
#   set -a; . ./.env; set +a
`)
	for _, s := range readSettings(t) {
		if s.section != "" {
			fmt.Fprintf(&b, "\n# --- %s\n", s.section)
		}
		fmt.Fprintf(&b, "\n# %s\n# %s=%s\n", s.comment, s.name, quoted(s.value))
	}
	b.WriteString(`
# --- For docker compose alone

# the port on this machine
# APP_PORT=8080

# of the database's roles, from the first start on; letters and digits
# DATABASE_PASSWORD=plenary

# what /version says of the image that is built
# VERSION=
`)
	return b.String()
}

// quoted writes a value so that a shell and docker compose read it alike.
func quoted(value string) string {
	if strings.ContainsAny(value, " <>|&;()$`\"'") {
		return "'" + value + "'"
	}
	return value
}

// Each line of the example, with its # taken away, is a setting that changes nothing.
func TestReferenceExampleHoldsTheDefaults(t *testing.T) {
	t.Parallel()
	environ := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^# ([A-Z_]+)=(.*)$`).FindAllStringSubmatch(envExample(t), -1) {
		environ[line[1]] = strings.Trim(line[2], "'")
	}
	got, err := readConfig(environ)
	if err != nil {
		t.Fatal(err)
	}
	want, err := readConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the example gives %+v, nothing at all %+v", got, want)
	}
	for _, name := range settingNames() {
		if _, ok := environ[name]; !ok {
			t.Errorf("the example lacks %s", name)
		}
	}
}

// The limits that the comments name are the ones that are checked.
func TestReferenceLimitsAreTrue(t *testing.T) {
	t.Parallel()
	limits := regexp.MustCompile(`\b(\d+\w*) to (\d+\w*)\b`)
	looked := 0
	for _, s := range readSettings(t) {
		named := limits.FindStringSubmatch(s.comment)
		if s.kind != "duration" && s.kind != "number" {
			continue
		}
		if named == nil {
			t.Errorf("the comment of %s names no limits", s.name)
			continue
		}
		looked++
		for _, inside := range named[1:] {
			if _, err := readConfig(map[string]string{s.name: inside}); err != nil {
				t.Errorf("%s=%s: %v", s.name, inside, err)
			}
		}
		for _, outside := range []string{beyond(t, named[1], -1), beyond(t, named[2], +1)} {
			if _, err := readConfig(map[string]string{s.name: outside}); err == nil {
				t.Errorf("%s=%s is accepted, and its comment says %s", s.name, outside, named[0])
			}
		}
	}
	if looked == 0 {
		t.Error("no limits were found")
	}
}

// beyond returns the next value in a direction: of a number, or of a duration.
func beyond(t *testing.T, value string, step int) string {
	t.Helper()
	if n, err := strconv.Atoi(value); err == nil {
		return strconv.Itoa(n + step)
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		t.Fatal(err)
	}
	return (d + time.Duration(step)*time.Millisecond).String()
}
