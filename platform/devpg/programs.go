package devpg

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/plenary/platform/fault"
)

// The major versions that the launcher knows.
const (
	OldestMajor = 15
	NewestMajor = 18
)

// Programs is one installation of PostgreSQL's server programs.
type Programs struct {
	Major int
	Dir   string // holds initdb and postgres, and usually psql
}

// places is where packages put the programs of one or several versions; few of them are on PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",                            // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                     // PostgreSQL's own packages for Red Hat and its kin
	"/usr/lib/postgresql*/bin", "/usr/libexec/postgresql*", // SUSE, Alpine
	"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin", // Homebrew
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin", // built from source
}

// BinDirVariable is the environment variable that says where the programs are, for a machine with several
// versions or with an unusual place.
const BinDirVariable = "DEVPG_BIN"

// FindPrograms returns what is installed of versions 15 to 18, newest first and one a version. It looks in
// binDir alone if that is given, or in the folder that DEVPG_BIN names, otherwise on PATH and where packages
// put the programs. If there is nothing, an Unavailable fault with code "postgres_missing" comes back, whose
// one line names the choices.
func FindPrograms(ctx context.Context, binDir string) ([]Programs, error) {
	if binDir == "" {
		binDir = os.Getenv(BinDirVariable)
	}
	if binDir != "" {
		return findPrograms(ctx, []string{binDir}, "in "+binDir)
	}
	dirs := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range places {
		matches, _ := filepath.Glob(pattern) // the patterns are well-formed
		dirs = append(dirs, matches...)
	}
	return findPrograms(ctx, dirs, "on this machine")
}

func findPrograms(ctx context.Context, dirs []string, place string) ([]Programs, error) {
	var found []Programs
	var unfit []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		// A link on PATH leads to the folder where initdb lies beside postgres.
		real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		p := Programs{Dir: filepath.Dir(real), Major: majorOf(ctx, real)}
		if _, err := os.Stat(filepath.Join(p.Dir, "initdb")); err != nil || p.Major == 0 {
			continue
		}
		if p.Major < OldestMajor || p.Major > NewestMajor {
			unfit = append(unfit, strconv.Itoa(p.Major))
			continue
		}
		if !slices.ContainsFunc(found, func(q Programs) bool { return q.Major == p.Major }) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, missing(place, unfit)
	}
	slices.SortStableFunc(found, func(a, b Programs) int { return cmp.Compare(b.Major, a.Major) })
	return found, nil
}

func missing(place string, unfit []string) error {
	there := "there are none " + place
	if len(unfit) > 0 {
		there = "there is only version " + strings.Join(unfit, " and ") + " " + place
	}
	return fault.Newf(fault.Unavailable, "postgres_missing",
		"PostgreSQL's programs (initdb and postgres, version %d to %d) are needed and %s: "+
			"install the package (Debian: apt-get install postgresql; macOS: brew install postgresql@%d), "+
			"or set DATABASE_URL to a server that you have (tests: TEST_DATABASE_URL, with a superuser)",
		OldestMajor, NewestMajor, there, NewestMajor)
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// majorOf asks the program for its version and returns 0 if it has no good answer.
func majorOf(ctx context.Context, postgres string) int {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, postgres, "--version").Output()
	if err != nil {
		return 0
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return 0
	}
	major, _ := strconv.Atoi(string(match[1]))
	return major
}

// choose picks the programs for a home folder. Data that is there already decides the version, because no
// other version can read it.
func choose(installed []Programs, home string) (Programs, error) {
	existing := majorsIn(home)
	for _, major := range existing {
		for _, p := range installed {
			if p.Major == major {
				return p, nil
			}
		}
	}
	if len(existing) == 0 {
		return installed[0], nil
	}
	var versions []string
	for _, p := range installed {
		versions = append(versions, strconv.Itoa(p.Major))
	}
	folder := dataDir(home, existing[0])
	return Programs{}, fault.Newf(fault.Conflict, "postgres_version",
		"the data in %s is of PostgreSQL %d and there are programs of version %s only: install PostgreSQL %d, "+
			"or carry the data over (pg_dump, pg_upgrade), or move that folder away to start with an empty database",
		folder, existing[0], strings.Join(versions, " and "), existing[0])
}
