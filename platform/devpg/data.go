package devpg

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/plenary/platform/fault"
)

// makeData makes the data folder unless it is there. It is made under another name first, so that whatever has
// the final name is complete.
func (s *Server) makeData(ctx context.Context, acct account, o Options) error {
	if info, err := os.Stat(s.data); err == nil {
		return s.checkData(acct, info)
	}
	home, unfinished := filepath.Dir(s.data), filepath.Base(s.data)+".new-"
	for _, leftover := range withPrefix(home, unfinished) {
		// The initdb of a process that died a moment ago may be removing it too, hence also a new name each time.
		_ = os.RemoveAll(leftover)
	}
	folder, err := os.MkdirTemp(home, unfinished)
	if err != nil {
		return fmt.Errorf("make database: %w", err)
	}
	if err := s.initData(ctx, acct, o, folder); err != nil {
		_ = os.RemoveAll(folder)
		return err
	}
	if err := os.Rename(folder, s.data); err != nil {
		return fmt.Errorf("make database: %w", err)
	}
	return nil
}

func (s *Server) initData(ctx context.Context, acct account, o Options, folder string) error {
	if err := acct.own(folder); err != nil {
		return fmt.Errorf("make database: %w", err)
	}
	args := []string{
		"-D", folder, "-U", Superuser, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-instructions",
	}
	if o.Fast {
		args = append(args, "--no-sync")
	}
	c, err := s.spawn(acct, o, "initdb", args...)
	if err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		_ = c.stop(ctx)
		return fmt.Errorf("make database: %w", context.Cause(ctx))
	}
	if c.err != nil {
		return fault.Wrap(c.failure(s.logFile), fault.Unavailable, "postgres_start", "initdb did not make a database")
	}
	return nil
}

// checkData refuses data that the programs or the account cannot use.
func (s *Server) checkData(acct account, info fs.FileInfo) error {
	if uid, _ := ownerOf(info); uid != acct.uid {
		return fault.Newf(fault.Conflict, "postgres_owner",
			"%s belongs to another user (uid %d): start as that user or as root, or use another folder", s.data, uid)
	}
	text, err := os.ReadFile(filepath.Join(s.data, "PG_VERSION"))
	if version := strings.TrimSpace(string(text)); err != nil || version != strconv.Itoa(s.programs.Major) {
		return fault.Newf(fault.Conflict, "postgres_version",
			"%s does not hold what its name says, but version %q of PostgreSQL's data: move it away", s.data, version)
	}
	return nil
}

// dataDir returns the folder of a version's data below home.
func dataDir(home string, major int) string {
	return filepath.Join(home, "postgres-"+strconv.Itoa(major))
}

// majorsIn returns the versions of the data folders below home, newest first. Their names decide, because their
// files may be readable by another user alone.
func majorsIn(home string) []int {
	var majors []int
	for _, path := range withPrefix(home, "postgres-") {
		if major, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), "postgres-")); err == nil {
			majors = append(majors, major)
		}
	}
	slices.SortFunc(majors, func(a, b int) int { return b - a })
	return majors
}

// withPrefix returns the paths in a folder whose last part begins with prefix.
func withPrefix(dir, prefix string) []string {
	entries, _ := os.ReadDir(dir)
	var paths []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths
}
