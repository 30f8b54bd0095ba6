package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
)

// failure is one stable code, with the status that HTTP has for it.
type failure struct {
	status        int
	code, message string
	where         string
}

// neverAnswered are the packages whose faults stop the program or an attempt, and reach no caller.
var neverAnswered = []string{"platform/devpg", "platform/mail", "platform/host", "platform/wake", "platform/telemetry"}

func writeErrors(t *testing.T, b *strings.Builder) {
	t.Helper()
	b.WriteString("\n## Codes of errors\n\nThe member `code` of a problem document. Anything that has no code here is `internal`, 500; its cause is in the log.\n\n" +
		"| code | status | |\n|---|---|---|\n")
	failures := failuresIn(t, "../..")
	for i, f := range failures {
		if i > 0 && f.code == failures[i-1].code && f.status == failures[i-1].status {
			continue // one code, said in several places
		}
		fmt.Fprintf(b, "| `%s` | %d | %s |\n", f.code, f.status, escaped(f.message))
	}
}

// failuresIn finds where faults are made: fault.New and its kin, and literals of fault.Error and httpx.StatusError.
func failuresIn(t *testing.T, root string) []failure {
	t.Helper()
	var found []failure
	for _, top := range []string{"platform", "modules", "web"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if slices.Contains(neverAnswered, filepath.ToSlash(relative)) {
				return fs.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if f, ok := failureOf(n); ok && f.status != http.StatusInternalServerError {
					f.where = relative
					found = append(found, f)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(found, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.status, b.status), cmp.Compare(a.where, b.where), cmp.Compare(a.message, b.message))
	})
	if len(found) < 20 {
		t.Errorf("only %d codes were found", len(found))
	}
	return found
}

func failureOf(n ast.Node) (f failure, ok bool) {
	switch n := n.(type) {
	case *ast.CallExpr:
		from := map[string]int{"fault.New": 0, "fault.Newf": 0, "fault.Wrap": 1, "New": 0, "Newf": 0, "unavailable": -1}
		first, known := from[dotted(n.Fun)]
		if !known || len(n.Args) < first+3 {
			return f, false
		}
		kind := "Unavailable" // a helper of package postgres, for nothing else
		if first >= 0 {
			kind = strings.TrimPrefix(dotted(n.Args[first]), "fault.")
		}
		f.status, f.code, f.message = statusOfKind(kind), literal(n.Args[first+1]), literal(n.Args[first+2])
		if first < 0 {
			f.code, f.message = literal(n.Args[1]), literal(n.Args[2])
		}
	case *ast.CompositeLit:
		for _, element := range n.Elts {
			pair, keyed := element.(*ast.KeyValueExpr)
			if !keyed {
				return f, false
			}
			switch dotted(pair.Key) {
			case "Kind":
				f.status = statusOfKind(strings.TrimPrefix(dotted(pair.Value), "fault."))
			case "Status":
				f.status = statusNamed(strings.TrimPrefix(dotted(pair.Value), "http.Status"))
			case "Code":
				f.code = literal(pair.Value)
			case "Message":
				f.message = literal(pair.Value)
			}
		}
	}
	return f, f.code != "" && f.status != 0 && f.message != ""
}

func dotted(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return dotted(e.X) + "." + e.Sel.Name
	}
	return ""
}

// literal returns the text of a string, with … where something is filled in.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return placeholder.ReplaceAllString(text, "…")
	case *ast.BinaryExpr:
		return cmp.Or(literal(e.X), "…") + cmp.Or(literal(e.Y), "…")
	}
	return ""
}

// statusOfKind asks the edge itself, whose table is the only one.
func statusOfKind(name string) int {
	for kind := fault.Internal; kind <= fault.Unavailable; kind++ {
		if kind.String() == snake(name) {
			recorder := httptest.NewRecorder()
			httpx.WriteProblem(recorder, httptest.NewRequest(http.MethodGet, "/", nil), fault.New(kind, "code", "message"))
			return recorder.Code
		}
	}
	return 0
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// statusNamed finds the number of http.StatusX by its text.
func statusNamed(name string) int {
	for status := 400; status < 600; status++ {
		if name != "" && strings.ReplaceAll(http.StatusText(status), " ", "") == name {
			return status
		}
	}
	return 0
}
