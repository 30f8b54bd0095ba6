package main

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"example.com/plenary/platform/devpg"
	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// consult runs the doctor with settings, on a free port and an empty data folder unless they say otherwise.
func consult(t *testing.T, settings ...string) (lines []string, sick bool) {
	t.Helper()
	environ := map[string]string{"HTTP_ADDR": "127.0.0.1:0", "DATA_DIR": t.TempDir()}
	for i := 0; i < len(settings); i += 2 {
		environ[settings[i]] = settings[i+1]
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{"doctor"}, environ, &out, t.Output())
	if err != nil && exitCode(err) != 1 {
		t.Errorf("exit code %d: %v", exitCode(err), err)
	}
	if strings.Contains(out.String(), "hush") {
		t.Errorf("a secret shows:\n%s", out.String())
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n"), err != nil
}

// says fails the test unless one line begins and goes on as given, and the exit agrees with the verdicts.
func says(t *testing.T, verdict, what, part string, settings ...string) {
	t.Helper()
	lines, sick := consult(t, settings...)
	found, failures := false, false
	for _, line := range lines {
		rest, ours := strings.CutPrefix(line, verdict+" ")
		found = found || ours && strings.HasPrefix(strings.TrimSpace(rest), what+" ") && strings.Contains(rest, part)
		failures = failures || strings.HasPrefix(line, failed)
	}
	if !found {
		t.Errorf("no line %q about %s with %q in\n%s", verdict, what, part, strings.Join(lines, "\n"))
	}
	if failures != sick {
		t.Errorf("failures %v, exit with an error %v:\n%s", failures, sick, strings.Join(lines, "\n"))
	}
}

func TestDoctorWithNothingAtAll(t *testing.T) {
	t.Parallel()
	lines, sick := consult(t)
	if sick {
		t.Errorf("it finds fault with the defaults:\n%s", strings.Join(lines, "\n"))
	}
}

func TestDoctorReportsEveryMistakeInTheConfiguration(t *testing.T) {
	t.Parallel()
	mistakes := []string{
		"LEASE", "hush", "DEMO", "hush", "WORKERS", "hush", "LOG_LEVEL", "hush", "LOG_FORMAT", "hush", "STOP_GRACE", "1h",
		"PROCESS_ROLE", "hush", "BASE_URL", "hush", "HTTP_ADDR", "hush", "RATE_LIMIT_USER", "hush",
	}
	for _, part := range []string{
		"LEASE must be a duration", "DEMO must be true or false", "WORKERS must be a whole number", "LOG_LEVEL must be debug", "LOG_FORMAT must be",
		"STOP_GRACE must be", "PROCESS_ROLE must be", "BASE_URL must look", "HTTP_ADDR must look", "RATE_LIMIT_USER must look like 100/s",
	} {
		says(t, failed, "configuration", part, mistakes...)
	}
	lines, _ := consult(t, mistakes...)
	if n := strings.Count(strings.Join(lines, "\n"), "LEASE must"); n != 1 {
		t.Errorf("%d complaints about one mistake:\n%s", n, strings.Join(lines, "\n"))
	}
}

func TestDoctorKnowsMisspeltSettings(t *testing.T) {
	t.Parallel()
	for wrong, right := range map[string]string{
		"ODER_EXPIRES_AFTER": "ORDER_EXPIRES_AFTER", "DATABSE_URL": "DATABASE_URL", "HTTP_ADRR": "HTTP_ADDR", "SMPT_URL": "SMTP_URL",
		"STOPGRACE": "STOP_GRACE", "demo": "DEMO", "LAESE": "LEASE", "PROCESS_ROL": "PROCESS_ROLE",
	} {
		says(t, doubtful, "configuration", wrong+" is no setting: did you mean "+right+"?", wrong, "hush")
	}
	lines, _ := consult(t, "PATH", "/bin", "HOME", "/", "LESS", "-R", "LOGNAME", "x", "TERM", "x", "APP_PORT", "1", "DISPLAY", ":0", "DEVPG_BIN", "")
	if all := strings.Join(lines, "\n"); strings.Contains(all, "did you mean") {
		t.Errorf("it suspects the innocent:\n%s", all)
	}
}

func TestDoctorFindsWhoHasThePort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	go func() { // whoever it is, it is no Plenary
		for {
			conn, err := taken.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	who := "another process"
	if runtime.GOOS == "linux" {
		who = "(pid " + strconv.Itoa(os.Getpid()) + ")"
	}
	says(t, failed, "http", who, "HTTP_ADDR", taken.Addr().String())
	says(t, failed, "http", "no address of this machine", "HTTP_ADDR", "192.0.2.1:8080")
	says(t, doubtful, "http", "whoever reaches it", "HTTP_ADDR", "0.0.0.0:0", "DEMO", "true")
}

func TestDoctorBesideTheProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	says(t, doubtful, "http", "serves at "+r.app.Address()+" already", "HTTP_ADDR", r.app.Address())
	says(t, fine, "database", "migrations of this program are applied", "DATABASE_URL", w.environ["DATABASE_URL"])
	says(t, fine, "database", "its clock and this machine's agree", "DATABASE_URL", w.environ["DATABASE_URL"])
	says(t, fine, "mail", "can be reached", "SMTP_URL", w.environ["SMTP_URL"])
}

func TestDoctorOnDatabasesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	says(t, failed, "database", "no connection", "DATABASE_URL", "postgres://u:hush@"+closed.Addr().String()+"/none")
	says(t, failed, "database", "cannot be understood", "DATABASE_URL", "postgres://u:hush@:x/none")

	good := postgrestest.URL(t)
	says(t, failed, "database", "does not let this user in", "DATABASE_URL", with(t, good, "user", "nobody_known", "password", "hush"))
	missing, err := url.Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	missing.Path = "/none"
	says(t, failed, "database", "there is no such database", "DATABASE_URL", missing.String())
	says(t, doubtful, "database", "is a superuser", "DATABASE_URL", pgtest.AsSuperuser(t, good))
	says(t, doubtful, "database", "a process opens up to 1009 connections", "DATABASE_URL", good, "DATABASE_MAX_CONNS", "1000")
}

// with adds parameters to a URL.
func with(t *testing.T, address string, parameters ...string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// The server is made to lie about its version and its clock: functions of the same names come first on the path.
func TestDoctorOnServersThatAreNotTheRightOnes(t *testing.T) {
	t.Parallel()
	address := postgrestest.URL(t, of("sales"), of("conference"), of("engagement"), of("sandbox"))
	super := postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, address)}).Source("liar")
	postgrestest.Exec(t, super, `CREATE SCHEMA old`)
	postgrestest.Exec(t, super, `GRANT USAGE ON SCHEMA old TO public`)
	postgrestest.Exec(t, super, `CREATE FUNCTION old.current_setting(text) RETURNS text LANGUAGE sql AS
		$$ SELECT CASE $1 WHEN 'server_version_num' THEN '140011' ELSE pg_catalog.current_setting($1) END $$`)
	postgrestest.Exec(t, super, `CREATE FUNCTION old.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
		$$ SELECT pg_catalog.clock_timestamp() - interval '1 hour' $$`)
	liar := with(t, address, "search_path", "old,pg_catalog")
	says(t, failed, "database", "is PostgreSQL 14: use 15 to 18", "DATABASE_URL", liar)
	says(t, doubtful, "database", "its clock is 1h0m0s behind", "DATABASE_URL", liar)
}

func TestDoctorOnMigrations(t *testing.T) {
	t.Parallel()
	empty := pgtest.Empty(t)
	says(t, doubtful, "database", "migrations are pending: app serve applies them", "DATABASE_URL", empty)
	says(t, doubtful, "database", "migrations are pending: app serve applies them", "DATABASE_URL", pgtest.AsApp(t, empty), "MIGRATION_DATABASE_URL", empty)
	says(t, failed, "database", "may not make them: set MIGRATION_DATABASE_URL", "DATABASE_URL", pgtest.AsApp(t, empty))

	address := postgrestest.URL(t, of("sales"), of("conference"), of("engagement"), of("sandbox"))
	super := postgrestest.Connect(t, postgres.Config{URL: pgtest.AsSuperuser(t, address)}).Source("future")
	record := `INSERT INTO platform.migrations (source, version, name, checksum, incompatible) VALUES ('sales', $1, 'future', '', $2)`
	postgrestest.Exec(t, super, record, 9000, false)
	says(t, doubtful, "database", "1 migrations are newer", "DATABASE_URL", address)
	postgrestest.Exec(t, super, record, 9001, true)
	says(t, failed, "database", "sales/9001_future was applied by a newer version", "DATABASE_URL", address)

	says(t, failed, "database", "name the same database in two ways",
		"DATABASE_URL", address, "SALES_DATABASE_URL", with(t, address, "application_name", "other"))
	postgrestest.Exec(t, super, `REVOKE ALL ON SCHEMA platform FROM `+role(t, address))
	says(t, failed, "database", "may not read the schema", "DATABASE_URL", address)
}

func role(t *testing.T, address string) string {
	t.Helper()
	_, where, err := connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return where[strings.LastIndex(where, " ")+1:]
}

func TestDoctorOnTheDataFolder(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	says(t, fine, "data folder", "will be made", "DATA_DIR", filepath.Join(base, "new"))
	says(t, fine, "data folder", "will be made", "DATA_DIR", filepath.Join(base, "new", "below"))
	if _, err := os.Stat(filepath.Join(base, "new")); err == nil {
		t.Error("looking made the folder")
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, failed, "data folder", "is no folder", "DATA_DIR", file)
	says(t, failed, "data folder", "cannot be entered", "DATA_DIR", filepath.Join(file, "below"))
	says(t, failed, "data folder", "cannot be written to", "DATA_DIR", "/proc/nothing/below") // not even by root

	used := filepath.Join(base, "used")
	release, err := devpg.LockDir(used, "pid 4711, http://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	says(t, doubtful, "data folder", "pid 4711, http://127.0.0.1:8080", "DATA_DIR", used)
	release()
	says(t, fine, "data folder", "can be written to", "DATA_DIR", used)
}

func TestDoctorOnPrograms(t *testing.T) {
	kept := t.TempDir()
	if err := os.Mkdir(filepath.Join(kept, "postgres-9"), 0o700); err != nil {
		t.Fatal(err)
	}
	says(t, failed, "programs", "postgres-9: install that version", "DATA_DIR", kept)
	t.Setenv(devpg.BinDirVariable, t.TempDir())
	says(t, failed, "programs", "apt-get install postgresql")
	says(t, fine, "programs", "not needed", "DATABASE_URL", "postgres://u:hush@127.0.0.1:1/none")
}

func TestDoctorOnMail(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	says(t, failed, "mail", "cannot be reached", "SMTP_URL", "smtp://u:hush@"+closed.Addr().String())
	says(t, failed, "mail", "SMTP_URL is not understood", "SMTP_URL", "smtp://u:hush/hush@host")
	says(t, doubtful, "mail", "SMTP_URL is not set")
	says(t, fine, "mail", "built-in inbox", "DEMO", "true")
	says(t, fine, "mail", "a web process", "PROCESS_ROLE", "web")
}

func TestHealthcheckAsksTheRunningProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	r := w.start()
	ask := func(address string) error {
		return run(context.Background(), []string{"healthcheck"}, map[string]string{"HTTP_ADDR": address}, t.Output(), t.Output())
	}
	_, port, err := net.SplitHostPort(r.app.Address())
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{r.app.Address(), ":" + port, "0.0.0.0:" + port} {
		if err := ask(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	r.stop()
	if err := ask(r.app.Address()); exitCode(err) != 1 {
		t.Errorf("nobody is there any more, and it says %v, exit code %d", err, exitCode(err))
	}
}
