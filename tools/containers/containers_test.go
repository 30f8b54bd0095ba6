package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// files returns the repository's own files, one of them changed.
func files(t *testing.T, name, old, changed string) fs.FS {
	t.Helper()
	root := fstest.MapFS{}
	for _, file := range []string{"Dockerfile", "compose.yaml", "cmd/app/config.go", "scripts/database-roles.sql"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if file == name {
			if !strings.Contains(string(text), old) {
				t.Fatalf("%s does not contain %q any more", name, old)
			}
			text = []byte(strings.ReplaceAll(string(text), old, changed))
		}
		root[file] = &fstest.MapFile{Data: text}
	}
	return root
}

func TestFilesAreInOrder(t *testing.T) {
	t.Parallel()
	problems, err := check(t.Context(), os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// Every promise, broken.
func TestBrokenFilesAreReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, old, changed, complaint string }{
		{"Dockerfile", "ENTRYPOINT", "ENTRYPIONT", "unknown instruction"},
		{"Dockerfile", "golang:1.26-alpine", "golang", "name a version"},
		{"Dockerfile", "golang:1.26-alpine", "golang:latest", "name a version"},
		{"Dockerfile", "AS build", "as build", "FromAsCasing"},
		{"Dockerfile", "COPY . .", "ADD . .", "use COPY"},
		{"Dockerfile", "--from=build /out/app", "--from=bulid /out/app", "no such stage"},
		{"Dockerfile", "CGO_ENABLED=0", "CGO_ENABLED=1", "CGO_ENABLED=0"},
		{"Dockerfile", "-trimpath", "", "-trimpath"},
		{"Dockerfile", ".version=$VERSION", "", ".version="},
		{"Dockerfile", "FROM scratch", "FROM alpine:3.22", "FROM scratch"},
		{"Dockerfile", "COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/\n", "", "certificates"},
		{"Dockerfile", "USER 65532:65532\n", "", "numeric user"},
		{"Dockerfile", "USER 65532:65532", "USER nonroot", "numeric user"},
		{"Dockerfile", "USER 65532:65532", "USER 0", "numeric user"},
		{"Dockerfile", "STOPSIGNAL SIGTERM", "STOPSIGNAL SIGINT", "STOPSIGNAL"},
		{"Dockerfile", `ENTRYPOINT ["/app"]`, "ENTRYPOINT /app", "exec form"},
		{"Dockerfile", `ENTRYPOINT ["/app"]`, `ENTRYPOINT ["/plenary"]`, "is not copied"},
		{"Dockerfile", `CMD ["serve"]`, "CMD serve", "CMD must be"},
		{"Dockerfile", "COPY --from=build --chown=65532:65532 /out/var/ /var/\n", "", "whose owner the volume takes"},
		{"Dockerfile", "DATA_DIR=", "DATADIR=", "no setting DATADIR"},

		{"compose.yaml", "services:", "servcies:", "additional properties"},
		{"compose.yaml", "depends_on:", "dependson:", "dependson"},
		{"compose.yaml", "condition: service_healthy", "condition: service_started", "until db is healthy"},
		{"compose.yaml", "condition: service_healthy", "condition: healthy", "condition"},
		{"compose.yaml", "    depends_on:\n      db:", "    depends_on:\n      database:", "undefined service"},
		{"compose.yaml", "- 127.0.0.1:${APP_PORT:-8080}:8080", "- ${APP_PORT:-8080}:8080", "bound to 127.0.0.1"},
		{"compose.yaml", "- 127.0.0.1:${APP_PORT:-8080}:8080", "- 127.0.0.1:8080:8080", "with APP_PORT=9090"},
		{"compose.yaml", "- 127.0.0.1:${APP_PORT:-8080}:8080", "- 127.0.0.1:${APP_PORT:-8080}:80", "HTTP_ADDR"},
		{"compose.yaml", "    image: postgres", "    ports: [127.0.0.1:5432:5432]\n    image: postgres", "db is published"},
		{"compose.yaml", "http://localhost:${APP_PORT:-8080}", "http://localhost:8080", "BASE_URL"},
		{"compose.yaml", "HTTP_ADDR: 0.0.0.0:8080", "HTTP_ADDR: 127.0.0.1:8080", "HTTP_ADDR"},
		{"compose.yaml", "    ports:\n      - 127.0.0.1:${APP_PORT:-8080}:8080\n", "    network_mode: host\n", "network"},
		{"compose.yaml", "DEMO: \"true\"", "DEMOS: \"true\"", "no setting DEMOS"},
		{"compose.yaml", "stop_grace_period: 25s", "stop_grace_period: 10s", "stop_grace_period"},
		{"compose.yaml", "    stop_grace_period: 25s # the program ends within 18 s, running work included\n", "", "stop_grace_period"},
		{"compose.yaml", "test: [CMD, /app, healthcheck]", "test: [CMD, curl, localhost]", "own binary"},
		{"compose.yaml", "test: [CMD, /app, healthcheck]", "test: /app healthcheck", "health check in the form"},
		{"compose.yaml", "[CMD, psql, --no-psqlrc, -h, 127.0.0.1, -U", "[CMD, psql, --no-psqlrc, -U", "over TCP"},
		{"compose.yaml", "-U, plenary_app, -d", "-U, postgres, -d", "asked as plenary_app"},
		{"compose.yaml", "read_only: true", "read_only: false", "read-only file system"},
		{"compose.yaml", "cap_drop: [ALL]", "cap_drop: [NET_RAW]", "capabilities"},
		{"compose.yaml", "security_opt: [no-new-privileges:true]", "security_opt: [no-new-privileges:false]", "no-new-privileges"},
		{"compose.yaml", "restart: unless-stopped", "restart: \"no\"", "restarted"},
		{"compose.yaml", "image: postgres:17-alpine", "image: postgres", "name a version"},
		{"compose.yaml", "    user: postgres\n", "", "must not run as root"},
		{"compose.yaml", "- inbox:/var/lib/plenary", "- /var/lib/plenary", "needs a named volume"},
		{"compose.yaml", "- inbox:/var/lib/plenary", "- inbox:/data", "must be a volume"},
		{"compose.yaml", "volumes:\n  database:\n  inbox:\n", "volumes:\n  inbox:\n", "undefined volume"},
		{"compose.yaml", "./scripts/database-roles.sql", "./scripts/roles.sql", "there is no scripts/roles.sql"},
		{"compose.yaml", "plenary_owner:", "plenary_app:", "two roles"},
		{"compose.yaml", "@db:5432", "@localhost:5432", "name the server db"},
		{"compose.yaml", "networks: [default, database]", "networks: [default]", "cannot reach"},
	} {
		problems, err := check(t.Context(), files(t, c.file, c.old, c.changed))
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(problems, "\n"); !strings.Contains(all, c.complaint) {
			t.Errorf("%s with %q instead of %q: nothing about %q in\n%s", c.file, c.changed, c.old, c.complaint, all)
		}
	}
}
