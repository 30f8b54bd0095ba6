package mail

import (
	"bytes"
	netmail "net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/mail/inbox"
)

// testInbox is a real server and the folder behind it.
type testInbox struct {
	*inbox.Server
	dir string
}

func newInbox(t testing.TB) testInbox {
	t.Helper()
	dir := t.TempDir()
	server, err := inbox.Listen(inbox.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return testInbox{Server: server, dir: dir}
}

// all returns what arrived, newest first.
func (b testInbox) all(t testing.TB) []inbox.Mail {
	t.Helper()
	mails, err := b.Store().List(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return mails
}

// only returns the one message that arrived: as the inbox shows it, as bytes, and parsed by another reader.
func (b testInbox) only(t testing.TB) (inbox.Mail, string, *netmail.Message) {
	t.Helper()
	mails := b.all(t)
	if len(mails) != 1 {
		t.Fatalf("%d mails arrived, want 1", len(mails))
	}
	raw, err := os.ReadFile(filepath.Join(b.dir, mails[0].ID+".eml"))
	if err != nil {
		t.Fatal(err)
	}
	message, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return mails[0], string(raw), message
}

func TestMessageArrivesWhole(t *testing.T) {
	t.Parallel()
	box := newInbox(t)
	m := sampleMessage()
	m.Text = "Dear Zoë,\n\n.a line with a dot\n" + strings.Repeat("long ", 400) + "\n"
	m.HTML = "<p>Dear Zoë &amp; all</p>\n"
	if err := newSender(t, Config{URL: box.URL()}).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got, _, message := box.only(t)
	if got.To != m.To.Email || got.Subject != m.Subject || got.Text != m.Text || got.HTML != m.HTML {
		t.Errorf("got %+v", got)
	}
	if want := "<" + m.ID + "@plenary.test>"; got.MessageID != want {
		t.Errorf("Message-ID = %q, want %q", got.MessageID, want)
	}
	if age := time.Since(got.ReceivedOn); age < 0 || age > time.Minute {
		t.Errorf("received %v ago", age)
	}
	if date, err := message.Header.Date(); err != nil || time.Since(date) > time.Minute {
		t.Errorf("Date = %v, %v", date, err)
	}
	if from, err := message.Header.AddressList("From"); err != nil || from[0].String() != `"Tickets" <tickets@plenary.test>` {
		t.Errorf("From = %v, %v", from, err)
	}
	if got := message.Header.Get("Auto-Submitted"); got != "auto-generated" {
		t.Errorf("Auto-Submitted = %q", got)
	}
	for _, name := range []string{"X-Mailer", "User-Agent", "Bcc", "Cc"} {
		if _, ok := message.Header[name]; ok {
			t.Errorf("header %s is there", name)
		}
	}
}

func TestEveryAttemptBearsTheSameMessageID(t *testing.T) {
	t.Parallel()
	box := newInbox(t)
	for range 2 { // two processes
		s := newSender(t, Config{URL: box.URL(), Domain: "mail.plenary.test"})
		if err := s.Send(t.Context(), sampleMessage()); err != nil {
			t.Fatal(err)
		}
	}
	mails := box.all(t)
	want := "<" + sampleMessage().ID + "@mail.plenary.test>"
	if len(mails) != 2 || mails[0].MessageID != want || mails[1].MessageID != want {
		t.Errorf("got %+v", mails)
	}
}

// Names and subjects from people must not change who gets the mail or what else its header says.
func TestHostileNamesAndSubjects(t *testing.T) {
	t.Parallel()
	for _, text := range hostileTexts {
		box := newInbox(t)
		m := sampleMessage()
		m.To.Name, m.Subject = text, text
		if err := newSender(t, Config{URL: box.URL()}).Send(t.Context(), m); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got, raw, message := box.only(t)
		if got.To != m.To.Email {
			t.Errorf("%q: envelope recipient %q", text, got.To)
		}
		if got.Subject != clean(text) {
			t.Errorf("subject %q arrives as %q", text, got.Subject)
		}
		to, err := message.Header.AddressList("To")
		if err != nil || len(to) != 1 || to[0].Name != clean(text) || to[0].Address != m.To.Email {
			t.Errorf("To of %q parses to %v, %v", text, to, err)
		}
		var names []string
		for name := range message.Header {
			names = append(names, name)
		}
		slices.Sort(names)
		want := []string{
			"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Return-Path", "Subject", "To",
			"X-Envelope-To",
		}
		if !slices.Equal(names, want) {
			t.Errorf("headers of %q: %v", text, names)
		}
		for line := range strings.SplitSeq(raw, "\r\n") {
			if len(line) > 998 || strings.ContainsAny(line, "\r\n\x00") {
				t.Errorf("%q makes the line %q", text, line)
			}
		}
	}
}

func TestHostileAddressReachesNoServer(t *testing.T) {
	t.Parallel()
	server := newFakeServer()
	s := newSender(t, Config{URL: "smtp://" + server.listen(t) + "?tls=none"})
	for _, address := range badAddresses {
		m := sampleMessage()
		m.To.Email = address
		if err := s.Send(t.Context(), m); !fault.Is(err, "mail.bad_address") {
			t.Errorf("Send to %q = %v", address, err)
		}
	}
	if heard := server.heard(); len(heard) > 0 {
		t.Errorf("the server heard %q", heard)
	}
}

func TestEnvelopeIsOneBareAddress(t *testing.T) {
	t.Parallel()
	server := newFakeServer()
	s := newSender(t, Config{URL: "smtp://" + server.listen(t) + "?tls=none"})
	m := sampleMessage()
	m.To = Address{Name: "Smith, Jo <x@evil.test>, Bcc: y@evil.test", Email: "o'brien+tag@example.com"}
	if err := s.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	want := []string{"EHLO plenary.test", "MAIL FROM:<tickets@plenary.test>", "RCPT TO:<o'brien+tag@example.com>", "DATA", "QUIT"}
	if got := server.heard(); !slices.Equal(got, want) {
		t.Errorf("the server heard %q, want %q", got, want)
	}
}

func TestMessageThatLacksSomething(t *testing.T) {
	t.Parallel()
	s := newSender(t, Config{URL: "smtp://127.0.0.1:1?tls=none"})
	for _, spoil := range []func(*Message){
		func(m *Message) { m.ID = "" },
		func(m *Message) { m.ID = "a>\r\nBcc: x@evil.test" },
		func(m *Message) { m.ID = strings.Repeat("a", 129) },
		func(m *Message) { m.Text, m.HTML = "", "" },
	} {
		m := sampleMessage()
		spoil(&m)
		if err := s.Send(t.Context(), m); !fault.Is(err, "mail.bad_message") || fault.Retryable(err) {
			t.Errorf("Send(%+v) = %v", m, err)
		}
	}
}

func TestEitherPartMayBeMissing(t *testing.T) {
	t.Parallel()
	for _, m := range []Message{
		{ID: "a", To: Address{Email: "a@b.test"}, Text: "only text\n"},
		{ID: "a", To: Address{Email: "a@b.test"}, HTML: "<p>only html</p>\n"},
	} {
		box := newInbox(t)
		if err := newSender(t, Config{URL: box.URL()}).Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := box.only(t); got.Text != m.Text || got.HTML != m.HTML || got.Subject != "" {
			t.Errorf("got %+v", got)
		}
	}
}
