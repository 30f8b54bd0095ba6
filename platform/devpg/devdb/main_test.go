package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/plenary/platform/devpg"
	"example.com/plenary/platform/fault"
)

func TestDatabaseRunsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	base, err := os.MkdirTemp("", "devdb-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o711); err != nil { // as root, the server's user must get through
		t.Fatal(err)
	}
	dir := filepath.Join(base, "data")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, dir, "shop", writer)
		_ = writer.CloseWithError(err)
		ended <- err
	}()
	address := regexp.MustCompile(`^(MIGRATION_)?DATABASE_URL='(.*)'$`)
	lines := bufio.NewScanner(reader)
	var url, ownerURL string
	for (url == "" || ownerURL == "") && lines.Scan() {
		switch match := address.FindStringSubmatch(lines.Text()); {
		case match == nil:
		case match[1] == "":
			url = match[2]
		default:
			ownerURL = match[2]
		}
	}
	if url == "" || ownerURL == "" {
		t.Fatalf("it printed %q for the program and %q for the owner: %v", url, ownerURL, lines.Err())
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()

	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	for whose, want := range map[*pgx.Conn]string{conn: "shop_app in shop, makes schemas: false", owner: "shop_owner in shop, makes schemas: true"} {
		var who string
		err := whose.QueryRow(t.Context(), `select current_user || ' in ' || current_database() || ', makes schemas: ' ||
			has_database_privilege(current_database(), 'CREATE')::text`).Scan(&who)
		if err != nil || who != want {
			t.Errorf("%q, %v, not %q", who, err, want)
		}
	}
	file, err := os.ReadFile(filepath.Join(dir, devpg.URLFile))
	if err != nil || !strings.Contains(string(file), "user=shop_owner") {
		t.Errorf("for psql there is %q, %v", file, err)
	}
	if err := run(t.Context(), dir, "shop", io.Discard); !fault.Is(err, "folder_in_use") || !strings.Contains(err.Error(), "the database alone") {
		t.Errorf("a second one says %v", err)
	}

	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopped as asked, it says %v", err)
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("the server is still there")
	}
}
