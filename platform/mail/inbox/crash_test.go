package inbox_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/mail"
	"example.com/plenary/platform/mail/inbox"
)

func TestAnsweredMailSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startProcess(t, dir)
	for i := range 5 {
		if err := send(t, first.url, fmt.Sprint("before-", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()

	server := listen(t, inbox.Config{Dir: dir})
	if err := send(t, server.URL(), "after"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list(t, server.Store()) {
		got = append(got, strings.TrimPrefix(m.Subject, "mail "))
	}
	if want := "after before-4 before-3 before-2 before-1 before-0"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The one moment at which a mail is sent twice: both copies bear the Message-ID of the command.
func TestDeathBetweenStoringAndAnswering(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startProcess(t, dir, childDie+"=1")
	if err := send(t, first.url, "command-1"); !fault.Is(err, "mail.unavailable") {
		t.Fatalf("got %v", err)
	}
	_ = first.Wait()
	server := listen(t, inbox.Config{Dir: dir})
	if mails := list(t, server.Store()); len(mails) != 1 {
		t.Fatalf("%d mails survived, want 1", len(mails))
	}
	if err := send(t, server.URL(), "command-1"); err != nil {
		t.Fatal(err)
	}
	mails := list(t, server.Store())
	if len(mails) != 2 || mails[0].MessageID != mails[1].MessageID || mails[0].ID == mails[1].ID {
		t.Errorf("got %+v", mails)
	}
}

func TestProcessesShareAFolder(t *testing.T) {
	t.Parallel()
	const each = 20
	dir := t.TempDir()
	other := startProcess(t, dir)
	server := listen(t, inbox.Config{Dir: dir})
	var senders sync.WaitGroup
	for i := range each {
		for _, url := range []string{server.URL(), other.url} {
			senders.Go(func() {
				if err := send(t, url, fmt.Sprint("m-", i)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	senders.Wait()
	seen := map[string]int{}
	for _, m := range list(t, server.Store()) {
		seen[m.MessageID]++
	}
	for id, n := range seen {
		if n != 2 {
			t.Errorf("%s arrived %d times", id, n)
		}
	}
	if len(seen) != each {
		t.Errorf("%d messages, want %d", len(seen), each)
	}
}

// Whoever looks while mail comes in sees whole messages only.
func TestReadersNeverSeeHalfAMessage(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{})
	sender, err := mail.New(mail.Config{URL: server.URL(), From: "tickets@plenary.test"})
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("a line of a long letter\n", 20_000)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range 10 {
			m := mail.Message{ID: "m", To: mail.Address{Email: "alice@example.com"}, Subject: "x", Text: body}
			if err := sender.Send(t.Context(), m); err != nil {
				t.Error(err)
			}
		}
	}()
	for done := false; !done; {
		select {
		case <-sent:
			done = true
		default:
		}
		mails, err := server.Store().List(t.Context(), 1)
		if err != nil || len(mails) > 0 && mails[0].Text != body {
			t.Fatalf("half a message is visible: %v", err)
		}
	}
}

// damaged returns a folder with one whole mail, and the same mail under another name, changed.
func damaged(t *testing.T, change func(raw []byte) []byte) *inbox.Store {
	t.Helper()
	dir := t.TempDir()
	server := listen(t, inbox.Config{Dir: dir})
	if err := send(t, server.URL(), "whole"); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, list(t, server.Store())[0].ID+".eml"))
	if err != nil {
		t.Fatal(err)
	}
	const older = "01900000-0000-7000-8000-000000000000.eml"
	if err := os.WriteFile(filepath.Join(dir, older), change(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	return server.Store()
}

func TestFileCutByACrash(t *testing.T) {
	t.Parallel()
	full := 0
	damaged(t, func(raw []byte) []byte { full = len(raw); return raw })
	for end := 0; end <= full; end += 7 {
		store := damaged(t, func(raw []byte) []byte { return raw[:min(end, len(raw))] })
		mails := list(t, store)
		if len(mails) != 2 || mails[0].Subject != "mail whole" || mails[0].HTML != "<p>whole</p>" {
			t.Fatalf("cut at %d: %+v", end, mails)
		}
		if mails[1].Subject == "" || mails[1].ReceivedOn.IsZero() {
			t.Errorf("cut at %d: %+v", end, mails[1])
		}
	}
}

func TestFileCutInItsHTMLStillShowsItsText(t *testing.T) {
	t.Parallel()
	store := damaged(t, func(raw []byte) []byte { return raw[:bytes.Index(raw, []byte("</p>"))] })
	m := list(t, store)[1]
	if m.To != "alice@example.com" || m.Subject != "mail whole" || m.Text != "text whole" || m.HTML != "<p>whole" {
		t.Errorf("got %+v", m)
	}
}

func TestHalfWrittenFilesAreNeverSeenAndRemovedInTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"incoming-1.tmp": time.Minute, "incoming-2.tmp": 2 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("Subject: half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Now(), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if mails := list(t, open(t, dir, 0)); len(mails) != 0 {
		t.Errorf("got %+v", mails)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "incoming-1.tmp" {
		t.Errorf("left are %v, %v", left, err)
	}
}
