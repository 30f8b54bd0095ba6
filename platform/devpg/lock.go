package devpg

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"example.com/plenary/platform/fault"
)

// LockDir takes a folder for this process alone, creating it if need be. note says who that is ("pid 4711,
// http://127.0.0.1:8080"); it is written to the lock file. If another process, or another part of this one,
// holds the lock, a Conflict fault with code "folder_in_use" comes back that quotes the holder's note.
//
// The lock is the kernel's and dies with the process; the file stays and means nothing by itself.
func LockDir(dir, note string) (release func(), err error) {
	return lockPath(dir, "lock", note)
}

func lockPath(dir, name, note string) (release func(), err error) {
	if !supported {
		return nil, fault.New(fault.Unavailable, "unsupported_system",
			"this operating system lacks the file locks that are needed here")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	taken, err := lockFile(file)
	if err != nil || !taken {
		holder := readNote(file)
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("lock folder %s: %w", dir, err)
		}
		return nil, fault.Newf(fault.Conflict, "folder_in_use",
			"the folder %s is in use by another process (%s)", dir, holder)
	}
	if err := writeNote(file, note); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock folder %s: %w", dir, err)
	}
	return func() {
		_ = file.Truncate(0)
		_ = file.Close() // and with it the lock; the file is not removed, for someone may be about to lock it
	}, nil
}

func writeNote(file *os.File, note string) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strings.ReplaceAll(note, "\n", " ")+"\n"), 0)
	return err
}

func readNote(file *os.File) string {
	text, _ := io.ReadAll(io.LimitReader(file, 300))
	if note := strings.TrimSpace(string(text)); note != "" {
		return note
	}
	return "it left no note"
}
