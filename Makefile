# What is done with this repository. The text behind ## is what `make help` prints.

DATA_DIR ?= .data
export DATA_DIR

gotool := go tool -modfile=tools/go.mod

# Whether tests can run under the race detector: it needs cgo, a C compiler, and a processor that it knows.
race_works = { test "$$(go env CGO_ENABLED)" = 1 && cc=$$(go env CC) && command -v "$${cc%% *}" && go list -race fmt; } >/dev/null 2>&1

# Whether there is a browser that tests can drive.
browser_works = { for b in chromium chromium-browser google-chrome google-chrome-stable; do command -v $$b && break; done; } >/dev/null

# What the tests did not cover on this machine, said at the end of the run. One line for each reason, or nothing:
#   notes += ; $(other_works) || echo "note: …"
notes = $(race_works) || echo "note: the tests ran without -race, which needs cgo and a C compiler (Debian: apt-get install gcc libc6-dev)"; \
	$(browser_works) || echo "note: the tests that need a browser did not run (Debian: apt-get install chromium)"

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: named := DATABASE_URL
run: programs build ## build, then run everything on a private PostgreSQL below DATA_DIR (.data)
	@exec bin/app dev

.PHONY: test
test: programs browser ## run the whole suite on a server of its own, with -race where that works
	@race=; if $(race_works); then race=-race; fi; \
	code=0; bin/withpg -- go test $$race -parallel 4 -timeout 20m ./... || code=$$?; \
	$(notes); exit $$code

.PHONY: race
race: programs browser ## run the whole suite with -race, or fail
	@$(race_works) || { echo "make race needs cgo and a C compiler (Debian: apt-get install gcc libc6-dev)" >&2; exit 1; }
	@bin/withpg -- go test -race -parallel 4 -timeout 20m ./...

# The files of this module only: the tools and benchmarks that are modules of their own are not in the list.
.PHONY: lint
lint: ## check with gofumpt, go vet and staticcheck
	@files=$$(go list -f '{{.Dir}}/*.go' ./... | sed "s|^$$(pwd -P)/||"); \
	unformatted=$$($(gotool) gofumpt -l $$files) || exit 1; \
	test -z "$$unformatted" || { printf 'not as gofumpt formats it:\n%s\n' "$$unformatted" >&2; exit 1; }
	@go vet ./...
	@$(gotool) staticcheck ./...

.PHONY: check
check: lint race ## all that must hold before a commit: lint, then race

.PHONY: db
db: named := NOTHING
db: programs ## run the development database alone, in the foreground
	@go build -o bin/devdb ./platform/devpg/devdb
	@exec bin/devdb -dir "$(DATA_DIR)" -name plenary

.PHONY: psql
psql: withpg ## open psql on the running development database; ARGS="-c 'select 1'"
	@test -n "$${DATABASE_URL:-}" || test -s "$(DATA_DIR)/database.url" || \
		{ echo "no development database runs on $(DATA_DIR): start one with make run or make db" >&2; exit 1; }; \
	psql=$$(command -v psql || echo "$$(bin/withpg -find)/psql"); \
	exec "$$psql" "$${DATABASE_URL:-$$(cat "$(DATA_DIR)/database.url")}" $(ARGS)

.PHONY: bench
bench: programs ## run the benchmarks, one package after the other
	@bin/withpg -- go test -p 1 -run '^$$' -bench . ./...

# Not a part of the suite: what it measures means something only while nothing else runs on the machine.
.PHONY: soak
soak: programs ## load the program with 200 mixed requests a second for a minute: times by route, and leaks; ARGS="-soak 10m -rate 300"
	@bin/withpg -- go test -v -count=1 -timeout 2h -tags soak -run '^TestSoak$$' ./cmd/app $(ARGS)

.PHONY: build
build: ## build bin/app
	@go build -o bin/app ./cmd/app

.PHONY: copy-platform
copy-platform: programs ## copy platform/ into another module and test it there: dest=../shop module=example.org/shop
	@scripts/copy-platform "$(dest)" "$(module)"

# The tests and the application run PostgreSQL themselves and need no more than its programs; if a variable names
# a server, not even those.
named := TEST_DATABASE_URL
.PHONY: programs
programs: withpg
	@test -n "$${$(named):-}" || bin/withpg -find >/dev/null 2>&1 || scripts/install-postgresql || true
	@test -n "$${$(named):-}" || bin/withpg -find >/dev/null

.PHONY: browser
browser:
	@scripts/install-chromium || true

.PHONY: withpg
withpg:
	@go build -o bin/withpg ./platform/devpg/withpg

.PHONY: rename
rename: ## give the module another path, in a clean tree: to=github.com/acme/app; force=1 if nothing could be undone
	@scripts/rename $(if $(force),--force) "$(to)"

# The Go tool does not see changes outside the module of a test, hence -count=1.
.PHONY: lint-compose
lint-compose: ## check compose.yaml and the Dockerfile, without a container engine
	@cd tools/containers && go vet ./... && go run . ../.. && go test -count=1 ./...

.PHONY: docs
docs: ## write docs/reference and .env.example anew, from the program
	@go test ./cmd/app -run Reference -args -update

.PHONY: tour
tour: ## follow the story of an order by curl, against the program that runs: at=http://127.0.0.1:8080
	@scripts/tour "$(or $(at),http://127.0.0.1:8080)"
