package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/devpg"
)

// The test binary is the command when this variable is set.
const commandVariable = "WITHPG_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

func withpg(t *testing.T, settings []string, arguments ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, arguments...)
	cmd.Env = append(append(os.Environ(), commandVariable+"=1", variable+"="), settings...)
	return cmd
}

func TestServerIsThereForTheCommand(t *testing.T) {
	t.Parallel()
	cmd := withpg(t, nil, "--", "sh", "-c", `echo "$TEST_DATABASE_URL"; read -r _; exit 7`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, _ := bufio.NewReader(out).ReadString('\n')
	url = strings.TrimSpace(url)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	var data string
	var super bool
	row := conn.QueryRow(t.Context(), "select current_setting('data_directory'), usesuper from pg_user where usename = current_user")
	if err := row.Scan(&data, &super); err != nil || !super {
		t.Errorf("super = %v, %v", super, err)
	}

	_ = in.Close()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d is not the command's", code)
	}
	if _, err := pgx.Connect(t.Context(), url); err == nil {
		t.Error("the server is still there")
	}
	if _, err := os.Stat(filepath.Dir(data)); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
}

func TestSignalsReachTheCommand(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := withpg(t, []string{variable + "=a server"}, "sh", "-c",
			`trap 'exit 42' INT TERM HUP; echo ready; while :; do read -r _ || exit 1; done`)
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 42 {
			t.Errorf("after %v the exit code is %d", signal, code)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	server := []string{variable + "=a server"}
	for _, c := range []struct {
		name      string
		settings  []string
		arguments []string
		code      int
		says      string
	}{
		{"a server that is named is used", server, []string{"sh", "-c", `test "$TEST_DATABASE_URL" = "a server"`}, 0, ""},
		{"failure", server, []string{"false"}, 1, ""},
		{"killed", server, []string{"sh", "-c", "kill -KILL $$"}, 128 + 9, ""},
		{"no such command", server, []string{"/no/such/command"}, 127, "/no/such/command"},
		{"no command", nil, nil, 2, "usage"},
		{"no programs", []string{devpg.BinDirVariable + "=" + t.TempDir()}, []string{"true"}, 1, "install the package"},
		{"no programs found", []string{devpg.BinDirVariable + "=" + t.TempDir()}, []string{"-find"}, 1, "install the package"},
		{"programs found", nil, []string{"-find"}, 0, "/"},
	} {
		cmd := withpg(t, c.settings, c.arguments...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: code %d, output %q", c.name, code, out)
		}
	}
}
