package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ranks orders the platform's packages: each imports only packages of a lower rank. A package below one that is
// listed has its rank, unless it is listed itself; tests may import anything of the platform.
var ranks = map[string]int{
	"fault":                 0,
	"strictjson":            1,
	"identity":              1,
	"feature":               1,
	"devpg":                 1,
	"devpg/pgtest":          2,
	"telemetry":             2,
	"cache":                 2,
	"postgres":              2,
	"mail":                  2,
	"ratelimit":             2,
	"postgres/postgrestest": 3,
	"command":               3,
	"wake":                  3,
	"lock":                  3,
	"httpx":                 4,
	"identity/login":        5,
	"audit":                 4,
	"later":                 4,
	"later/channel":         4,
	"later/lease":           5,
	"later/internalcommand": 6,
	"later/outbox":          6,
	"later/schedule":        7,
	"live":                  7,
	"ops":                   8,
	"host":                  8,
}

// source is one Go file: what it is and what it imports of ours.
type source struct {
	file    string
	pkg     string // "modules/sales"
	test    bool
	imports []string // "platform/fault"
}

// goFiles parses the imports in this process: a test that asked another program would be cached while the files
// change.
func goFiles(t *testing.T, root, module string) []source {
	t.Helper()
	var files []source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (nested == nil || strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s := source{file: relative, pkg: filepath.ToSlash(filepath.Dir(relative)), test: strings.HasSuffix(path, "_test.go")}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
				s.imports = append(s.imports, ours)
			}
		}
		files = append(files, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func moduleOf(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.SplitN(string(text), "\n", 2)[0], "module "))
}

func rankOf(pkg string) (rank int, entry string, ok bool) {
	for pkg != "." && pkg != "" {
		if rank, ok := ranks[pkg]; ok {
			return rank, pkg, true
		}
		pkg = filepath.ToSlash(filepath.Dir(pkg))
	}
	return 0, "", false
}

// allowed says why an import is forbidden, or "".
func allowed(s source, imported string) string {
	area, rest, _ := strings.Cut(s.pkg, "/")
	target, below, _ := strings.Cut(imported, "/")
	switch area {
	case "platform":
		return platformMay(s, rest, target, below)
	case "modules":
		return moduleMay(s, rest, target, below)
	case "migrations":
		return "migrations import nothing of ours"
	case "web":
		if target == "platform" || (target == "modules" && strings.Count(below, "/") == 0) || strings.HasPrefix(imported, s.pkg) {
			return ""
		}
		return "web imports the modules' public doors and the platform"
	case "cmd":
		return ""
	default:
		return "nothing lives here"
	}
}

func platformMay(s source, rest, target, below string) string {
	if target != "platform" {
		return "the platform imports nothing of ours but itself"
	}
	if s.test || rest == "" {
		return ""
	}
	mine, entry, ok := rankOf(rest)
	if !ok {
		return "the package has no rank"
	}
	theirs, other, ok := rankOf(below)
	if !ok {
		return "the imported package has no rank"
	}
	if theirs < mine || entry == other {
		return ""
	}
	return "its rank is not lower"
}

func moduleMay(s source, rest, target, below string) string {
	module, inner, _ := strings.Cut(rest, "/")
	if inner == module+"api" {
		return "what a module publishes imports nothing of ours"
	}
	if target == "platform" || (s.test && target == "migrations") { // a test makes its own database
		return ""
	}
	other, part, _ := strings.Cut(below, "/")
	if target == "modules" && (other == module || part == other+"api") {
		return ""
	}
	return "a module imports the platform and what other modules publish"
}

func TestImportsFollowTheArrows(t *testing.T) {
	t.Parallel()
	files := goFiles(t, "../..", moduleOf(t, "../.."))
	used := map[string]bool{}
	for _, s := range files {
		if rest, ok := strings.CutPrefix(s.pkg, "platform/"); ok {
			if _, entry, ok := rankOf(rest); ok {
				used[entry] = true
			}
		}
		for _, imported := range s.imports {
			if why := allowed(s, imported); why != "" {
				t.Errorf("%s imports %s: %s", s.file, imported, why)
			}
		}
	}
	for entry := range ranks {
		if !used[entry] {
			t.Errorf("the rank of platform/%s applies to no file", entry)
		}
	}
	if len(files) < 50 {
		t.Errorf("only %d files were looked at", len(files))
	}
}

// The rules themselves, on imports that must not be.
func TestArrowsRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pkg, imported string }{
		{"platform/postgres", "modules/sales"},
		{"platform/postgres", "platform/command"},
		{"platform/fault", "platform/identity"},
		{"platform/later/lease", "platform/later/outbox"},
		{"platform/unlisted", "platform/fault"},
		{"modules/conference", "modules/sales"},
		{"modules/conference", "cmd/app"},
		{"modules/sales", "web"},
		{"modules/sales/salesapi", "platform/fault"},
		{"migrations", "platform/postgres"},
		{"web", "modules/sales/sandbox"},
		{"elsewhere", "platform/fault"},
	} {
		if allowed(source{pkg: c.pkg}, c.imported) == "" {
			t.Errorf("%s may import %s", c.pkg, c.imported)
		}
	}
	for _, c := range []struct{ pkg, imported string }{
		{"platform/command", "platform/postgres"},
		{"modules/conference", "modules/sales/salesapi"},
		{"modules/sales/sandbox", "modules/sales"},
		{"cmd/app", "modules/sales"},
		{"web", "modules/sales"},
	} {
		if why := allowed(source{pkg: c.pkg}, c.imported); why != "" {
			t.Errorf("%s may not import %s: %s", c.pkg, c.imported, why)
		}
	}
}

var schemaUse = regexp.MustCompile(`(?i)\b(?:from|join|into|update|table|on|references|schema|sequence|nextval\(')\s*(?:if\s+(?:not\s+)?exists\s+)?([a-z_]+)\.[a-z_]+`)

// No module's SQL names another module's schema: it could not be moved to a database of its own.
func TestNoSQLReachesIntoAnotherSchema(t *testing.T) {
	t.Parallel()
	schemas := []string{"sales", "conference", "engagement", "sandbox", "platform"}
	home := func(path string) string {
		path = filepath.ToSlash(path)
		switch {
		case strings.HasPrefix(path, "modules/sales/sandbox/"), strings.HasPrefix(path, "migrations/sandbox/"):
			return "sandbox"
		case strings.HasPrefix(path, "modules/"), strings.HasPrefix(path, "migrations/"):
			return strings.Split(path, "/")[1]
		case strings.HasPrefix(path, "platform/"):
			return "platform"
		}
		return ""
	}
	looked := map[string]int{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || !(strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".sql")) {
			return err
		}
		relative, err := filepath.Rel("../..", path)
		own := home(relative)
		if err != nil || own == "" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, use := range schemaUse.FindAllStringSubmatch(string(text), -1) {
			for _, schema := range schemas {
				if use[1] == schema {
					looked[own]++
					if schema != own {
						t.Errorf("%s names the schema %s: %s", relative, schema, use[0])
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"sales", "conference", "engagement", "sandbox", "platform"} {
		if looked[own] == 0 {
			t.Errorf("no SQL of %s was looked at", own)
		}
	}
}
