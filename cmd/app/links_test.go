package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	fenced  = regexp.MustCompile("(?s)```.*?```")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	// placeholders stand for any package: platform/X.
	placeholders = regexp.MustCompile(`/[XY]`)
	repoPath     = regexp.MustCompile("`((?:\\.ci|api|cmd|docs|migrations|modules|platform|scripts|tools|web)/[A-Za-z0-9_./-]+)`")
)

// deadLinks returns what a page points to and is not there: relative links, the headings that they name, and paths of
// this repository in backquotes.
func deadLinks(root, page, text string) []string {
	var dead []string
	text = fenced.ReplaceAllString(text, "")
	for _, l := range link.FindAllStringSubmatch(text, -1) {
		target, anchor, _ := strings.Cut(l[1], "#")
		if strings.Contains(target, ":") {
			continue // somebody else's
		}
		path := filepath.Join(root, page)
		if target != "" {
			path = filepath.Join(root, filepath.Dir(page), target)
		}
		info, err := os.Stat(path)
		if err != nil || (anchor != "" && (info.IsDir() || !hasHeading(path, anchor))) {
			dead = append(dead, l[1])
		}
	}
	for _, p := range repoPath.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, p[1])); err != nil && !placeholders.MatchString(p[1]) {
			dead = append(dead, p[1])
		}
	}
	return dead
}

func hasHeading(path, anchor string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		if anchorOf(h[1]) == anchor {
			return true
		}
	}
	return false
}

// anchorOf is the fragment that forges make of a heading.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func TestLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "../.." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin") {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page, err := filepath.Rel("../..", path)
		if err != nil {
			return err
		}
		pages++
		for _, dead := range deadLinks("../..", page, string(text)) {
			t.Errorf("%s points to %s, which is not there", page, dead)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 10 {
		t.Errorf("only %d pages were looked at", pages)
	}
}

func TestDeadLinksAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "# Here\n\n## A `word`, two\n\n```\n# not a heading\n[gone](gone.md)\n```\n" +
		"[itself](page.md) [a heading](#a-word-two) [the same](page.md#a-word-two) [elsewhere](https://example.org/x) `docs/page.md`\n"
	broken := "[1](gone.md) [2](#nowhere) [3](page.md#not-a-heading) [4](../docs#here) `docs/gone.md`\n"
	if err := os.WriteFile(filepath.Join(root, "docs/page.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if dead := deadLinks(root, "docs/page.md", text); dead != nil {
		t.Errorf("good links are dead: %v", dead)
	}
	if dead := deadLinks(root, "docs/page.md", broken); len(dead) != 5 {
		t.Errorf("of five dead links these were found: %v", dead)
	}
}
