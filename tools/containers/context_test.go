package main

import (
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// The image's own build command, run on what .dockerignore lets through, makes a binary that needs nothing else.
func TestImageCanBeBuilt(t *testing.T) {
	t.Parallel()
	source, out := t.TempDir(), t.TempDir()
	copyContext(t, source)
	command := strings.ReplaceAll(buildCommand(t), "/out/", out+"/")
	build := exec.Command("sh", "-euc", command)
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH, "VERSION=v1.2.3-test", "GOFLAGS=-mod=readonly")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	binary, err := elf.Open(filepath.Join(out, "app"))
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	for _, part := range binary.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary is not static: it has a segment %v", part.Type)
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "app"))
	if err != nil {
		t.Fatal(err)
	}
	for what, trace := range map[string]string{"the version": "v1.2.3-test", "time zones": "America/Argentina/Buenos_Aires"} {
		if !strings.Contains(string(text), trace) {
			t.Errorf("%s: the binary does not contain %q", what, trace)
		}
	}
	if strings.Contains(string(text), source) {
		t.Error("the binary contains the path that it was built at")
	}
	if _, err := os.Stat(filepath.Join(out, "var/lib/plenary")); err != nil {
		t.Error(err)
	}
}

// buildCommand returns what the Dockerfile runs to build the program.
func buildCommand(t *testing.T) string {
	t.Helper()
	file, err := os.Open("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tree, err := parser.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(tree.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range stages[0].Commands {
		if run, ok := c.(*instructions.RunCommand); ok && strings.Contains(run.CmdLine[0], "go build") {
			return run.CmdLine[0]
		}
	}
	t.Fatal("the Dockerfile builds nothing")
	return ""
}

// copyContext copies what the builder would be sent.
func copyContext(t *testing.T, to string) {
	t.Helper()
	list, err := os.Open("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	patterns, err := ignorefile.ReadAll(list)
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	root := os.DirFS("../..")
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if top, _, _ := strings.Cut(path, "/"); entry.IsDir() && (top == ".git" || top == ".data" || top == "bin") {
			return fs.SkipDir
		}
		skip, err := ignored.MatchesOrParentMatches(path)
		if err != nil || skip || entry.IsDir() {
			return err
		}
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "docs/") {
			t.Errorf("%s is sent to the builder for nothing", path)
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, path)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}
