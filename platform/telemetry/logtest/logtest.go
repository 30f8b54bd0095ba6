// Package logtest keeps what a program under test logs.
//
//	var log logtest.Buffer
//	logger := slog.New(slog.NewTextHandler(&log, nil))
package logtest

import (
	"strings"
	"sync"
)

// Buffer holds text that any number of goroutines write. The zero value is empty and ready.
type Buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what has been written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Lines returns the lines that contain text.
func (b *Buffer) Lines(text string) (found []string) {
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}
