package pgtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/devpg"
)

func TestKeeperTakesTheServerAway(t *testing.T) {
	t.Parallel()
	url, k, err := startKeeper()
	if err != nil {
		t.Fatal(err)
	}
	var data string
	if err := connect(t, url).QueryRow(t.Context(), "show data_directory").Scan(&data); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(data); err != nil {
		t.Fatal(err)
	}
	_ = k.pipe.Close() // as the kernel does when the process dies
	if err := k.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", data, err)
	}
	if _, err := pgx.Connect(t.Context(), url); err == nil {
		t.Error("the server is still there")
	}
}

// TestMissingServerFailsWithOneLine runs a test of this package where there are no programs.
func TestMissingServerFailsWithOneLine(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		devpg.BinDirVariable + "=" + t.TempDir():    "install the package",
		"TEST_DATABASE_URL=host=localhost":          "TEST_DATABASE_URL is not an address like",
		"TEST_DATABASE_URL=postgres://127.0.0.1:1/": "does not answer",
	} {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-test.run=^TestAnotherVersionIsAnotherTemplate$", "-test.v")
		cmd.Env = append(os.Environ(), "TEST_DATABASE_URL=", setting)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL") {
			t.Errorf("%s: the test did not fail: %v\n%s", setting, err, out)
		}
		var lines int
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, want) {
				lines++
			}
		}
		if lines != 1 {
			t.Errorf("%s: %d lines say %q:\n%s", setting, lines, want, out)
		}
	}
}

func TestReaddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, user, password, want string }{
		{
			"postgres:///postgres?host=/tmp/s&port=5432&user=postgres", "o", "",
			"postgres:///d?host=/tmp/s&port=5432&user=o",
		},
		{
			"postgres:///postgres?host=/tmp/s&user=postgres&password=x", "o", "p",
			"postgres:///d?host=/tmp/s&password=p&user=o",
		},
		{"postgres://su:x@db:5432/postgres?sslmode=disable", "o", "p", "postgres://o:p@db:5432/d?sslmode=disable"},
		{"postgres://su:x@db:5432/postgres?sslmode=disable", "", "", "postgres://su:x@db:5432/d?sslmode=disable"},
		{"postgresql://su@db/x?dbname=y&application_name=a+b", "o", "", "postgresql://o@db/d?application_name=a%20b"},
	} {
		got := readdress(c.server, c.user, c.password, "d")
		if got != c.want {
			t.Errorf("%s becomes %s", c.server, got)
		}
		if config, err := pgx.ParseConfig(got); err != nil || config.Database != "d" || c.user != "" && config.User != c.user {
			t.Errorf("%s means %+v, %v", got, config, err)
		}
	}
}
