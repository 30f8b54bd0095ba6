package devpg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/plenary/platform/fault"
)

// pretend makes a folder with programs that only know their version.
func pretend(t *testing.T, version string) (binDir string) {
	t.Helper()
	binDir = t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, program := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(binDir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return binDir
}

func TestMissingProgramsAreOneLineWithTheChoices(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Dir: t.TempDir(), BinDir: t.TempDir()})
	if fault.KindOf(err) != fault.Unavailable || !fault.Is(err, "postgres_missing") {
		t.Fatalf("got %v", err)
	}
	for _, choice := range []string{"apt-get install postgresql", "DATABASE_URL"} {
		if !strings.Contains(err.Error(), choice) {
			t.Errorf("%q does not name %q", err, choice)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Error("more than one line")
	}
}

func TestProgramsOfAnotherVersionAreNamed(t *testing.T) {
	t.Parallel()
	_, err := FindPrograms(t.Context(), pretend(t, "14.20 (Debian 14.20-1)"))
	if !fault.Is(err, "postgres_missing") || !strings.Contains(err.Error(), "only version 14") {
		t.Errorf("got %v", err)
	}
}

func TestProgramsAreFoundNewestFirst(t *testing.T) {
	t.Parallel()
	old, newest := pretend(t, "15.19"), pretend(t, "18beta1")
	onlyServer := pretend(t, "17.2")
	if err := os.Remove(filepath.Join(onlyServer, "initdb")); err != nil {
		t.Fatal(err)
	}
	link := t.TempDir() // as on a PATH, where initdb need not lie beside postgres
	if err := os.Symlink(filepath.Join(old, "postgres"), filepath.Join(link, "postgres")); err != nil {
		t.Fatal(err)
	}

	dirs := []string{"", t.TempDir(), link, old, onlyServer, pretend(t, "19.0"), newest, pretend(t, "15.2")}
	found, err := findPrograms(t.Context(), dirs, "")
	if err != nil || len(found) != 2 || found[0].Major != 18 || found[1].Major != 15 {
		t.Fatalf("found %v, %v", found, err)
	}
	if filepath.Base(found[1].Dir) != filepath.Base(old) {
		t.Errorf("of two installations of one version the first counts, not %s", found[1].Dir)
	}
}

func TestExistingDataDecidesTheVersion(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	installed := []Programs{{Major: 18}, {Major: 16}, {Major: 15}}
	if p, err := choose(installed, home); err != nil || p.Major != 18 {
		t.Errorf("without data: %v, %v", p, err)
	}
	for _, version := range []string{"15", "16"} {
		data := filepath.Join(home, "postgres-"+version)
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte(version+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := choose(installed, home); err != nil || p.Major != 16 {
		t.Errorf("with data of 15 and 16: %v, %v", p, err)
	}
}

func TestDataOfAVersionThatIsNotInstalledIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	data := filepath.Join(dir, "postgres-17")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("17\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir, BinDir: pretend(t, "18.1")})
	if fault.KindOf(err) != fault.Conflict || !fault.Is(err, "postgres_version") {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{data, "is of PostgreSQL 17", "version 18 only", "install PostgreSQL 17", "move that folder"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "postgres-17" {
			t.Errorf("%s was made beside it", entry.Name())
		}
	}
	if text, err := os.ReadFile(filepath.Join(data, "PG_VERSION")); err != nil || string(text) != "17\n" {
		t.Errorf("the data was touched: %q, %v", text, err)
	}
}

func TestFolderWithAFalseNameIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	data := filepath.Join(dir, "postgres-18")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("16\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	acct, err := findAccount(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := acct.own(data); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir, BinDir: pretend(t, "18.1")}); !fault.Is(err, "postgres_version") {
		t.Errorf("got %v", err)
	}
}
