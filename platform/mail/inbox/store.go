package inbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	defaultKeep = 1000
	suffix      = ".eml"
	tempPattern = "incoming-*.tmp"
	// A temporary file of this age belongs to a process that died: a living one renames it within moments.
	tempLifetime = time.Hour
)

// Store is a folder of received messages. It is safe for concurrent use, by several processes too. Files that it
// did not write are left alone.
type Store struct {
	dir  string
	keep int
}

// OpenStore opens the folder, which it makes if there is none, and removes what dead processes left half
// written. keep bounds how many messages stay, the newest; 0 means 1000.
func OpenStore(dir string, keep int) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the mail folder: %w", err)
	}
	s := &Store{dir: dir, keep: cmp.Or(keep, defaultKeep)}
	if err := s.sweep(); err != nil {
		return nil, fmt.Errorf("tidy the mail folder: %w", err)
	}
	return s, nil
}

// List returns the newest messages, newest first; limit 0 or less means all. A file that is damaged is listed
// with what could be read of it.
func (s *Store) List(ctx context.Context, limit int) ([]Mail, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		ids = ids[:min(limit, len(ids))]
	}
	mails := make([]Mail, 0, len(ids))
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		raw, err := os.ReadFile(s.path(id))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has cleared the folder, or needed the place
		}
		if err != nil {
			return nil, fmt.Errorf("read a mail: %w", err)
		}
		mails = append(mails, read(id, raw))
	}
	return mails, nil
}

// Clear removes all messages.
func (s *Store) Clear(ctx context.Context) error {
	ids, err := s.ids()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.remove(id); err != nil {
			return err
		}
	}
	return nil
}

// add stores a message. When it returns nil, the message outlives this process and the machine's power.
func (s *Store) add(from string, recipients []string, message []byte) (Mail, error) {
	id, err := uuid.NewV7() // sorts by time of arrival
	if err != nil {
		return Mail{}, fmt.Errorf("name a mail: %w", err)
	}
	raw := append(envelopeHeader(from, recipients), message...)
	if err := s.write(s.path(id), raw); err != nil {
		return Mail{}, fmt.Errorf("store a mail: %w", err)
	}
	return read(id, raw), nil
}

func (s *Store) write(path string, raw []byte) (err error) {
	temp, err := os.CreateTemp(s.dir, tempPattern)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = bytes.NewReader(raw).WriteTo(temp)
	if err = cmp.Or(err, temp.Sync()); err != nil {
		return errors.Join(err, temp.Close())
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncFolder(s.dir)
}

// syncFolder makes a rename last: the new name is in the folder, not in the file.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// prune removes the oldest messages above the bound.
func (s *Store) prune() error {
	ids, err := s.ids()
	if err != nil {
		return err
	}
	for _, id := range ids[min(s.keep, len(ids)):] {
		if err := s.remove(id); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes temporary files whose process is gone.
func (s *Store) sweep() error {
	temps, err := filepath.Glob(filepath.Join(s.dir, tempPattern))
	if err != nil {
		return err
	}
	for _, temp := range temps {
		info, err := os.Stat(temp)
		if err != nil || time.Since(info.ModTime()) < tempLifetime {
			continue
		}
		if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ids lists the messages, newest first.
func (s *Store) ids() ([]uuid.UUID, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list the mail folder: %w", err)
	}
	var ids []uuid.UUID
	for _, entry := range slices.Backward(entries) {
		name, isMail := strings.CutSuffix(entry.Name(), suffix)
		id, err := uuid.Parse(name)
		// Parse takes other spellings of an id as well; ours is the one that the id is printed in.
		if isMail && err == nil && id.Version() == 7 && name == id.String() && entry.Type().IsRegular() {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (s *Store) path(id uuid.UUID) string { return filepath.Join(s.dir, id.String()+suffix) }

func (s *Store) remove(id uuid.UUID) error {
	if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a mail: %w", err)
	}
	return nil
}
