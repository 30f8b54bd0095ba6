package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/plenary/platform/mail/inbox"
)

func TestOnlyTheNewestAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := listen(t, inbox.Config{Dir: dir, Keep: 3})
	for i := range 5 {
		if err := send(t, server.URL(), fmt.Sprint("m-", i)); err != nil {
			t.Fatal(err)
		}
	}
	mails := list(t, server.Store())
	if len(mails) != 3 || mails[0].Subject != "mail m-4" || mails[2].Subject != "mail m-2" {
		t.Errorf("got %+v", mails)
	}
}

func TestListStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{})
	if mails, err := server.Store().List(t.Context(), 10); err != nil || mails == nil || len(mails) != 0 {
		t.Errorf("an empty inbox is %v, %v; want an empty list", mails, err)
	}
	for i := range 3 {
		if err := send(t, server.URL(), fmt.Sprint("m-", i)); err != nil {
			t.Fatal(err)
		}
	}
	if mails, err := server.Store().List(t.Context(), 2); err != nil || len(mails) != 2 || mails[0].Subject != "mail m-2" {
		t.Errorf("got %+v, %v", mails, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.Store().List(ctx, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := server.Store().Clear(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFilesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const someID = "01900000-0000-7000-8000-000000000000"
	for _, name := range []string{"notes.eml", "notes.txt", "f47ac10b-58cc-4372-a567-0e02b2c3d479.eml", someID, "{" + someID + "}.eml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("Subject: x\r\n\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, someID+".eml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, strings.Replace(someID, "019", "018", 1)+".eml")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := listen(t, inbox.Config{Dir: dir, Keep: 1})
	for range 2 {
		if err := send(t, server.URL(), "m"); err != nil {
			t.Fatal(err)
		}
	}
	if mails := list(t, server.Store()); len(mails) != 1 || mails[0].Subject != "mail m" {
		t.Errorf("got %+v", mails)
	}
	if err := server.Store().Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadDir(dir)
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the folder held %v and holds %v, %v", before, after, err)
	}
}

func TestJSONNames(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{})
	if err := send(t, server.URL(), "m"); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(list(t, server.Store())[0])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"messageId": "<m@plenary.test>", "to": "alice@example.com", "subject": "mail m", "text": "text m", "html": "<p>m</p>",
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
	if got["id"] == "" || !strings.HasSuffix(got["receivedOn"], "Z") || len(got) != 7 {
		t.Errorf("got %v", got)
	}
}
