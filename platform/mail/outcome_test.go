package mail

import (
	"net"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
)

func TestOutcomeTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stage, reply string
		code         string // "" means that the mail is taken
	}{
		{"greeting", "421 4.3.2 busy", "mail.unavailable"},
		{"greeting", "554 5.3.2 we take no mail", "mail.unavailable"},
		{"EHLO", "421 4.3.2 busy", "mail.unavailable"},
		{"AUTH", "535 5.7.8 wrong password", "mail.unavailable"},
		{"AUTH", "454 4.7.0 not now", "mail.unavailable"},
		{"MAIL", "451 4.3.0 later", "mail.unavailable"},
		{"MAIL", "553 5.1.8 this sender may not", "mail.unavailable"},
		{"MAIL", "530 5.7.0 log in first", "mail.unavailable"},
		{"RCPT", "450 4.2.1 grey-listed", "mail.unavailable"},
		{"RCPT", "452 4.2.2 mailbox full", "mail.unavailable"},
		{"RCPT", "550 5.1.1 no such user", "mail.rejected"},
		{"RCPT", "550 no such user", "mail.rejected"},
		{"RCPT", "501 5.1.3 bad address", "mail.rejected"},
		{"RCPT", "556 5.1.10 domain takes no mail", "mail.rejected"},
		{"RCPT", "554 5.7.1 relay access denied", "mail.unavailable"},
		{"RCPT", "530 5.7.0 log in first", "mail.unavailable"},
		{"RCPT", "503 5.5.1 out of order", "mail.unavailable"},
		{"DATA", "451 4.3.0 later", "mail.unavailable"},
		{"DATA", "554 5.5.1 no valid recipients", "mail.rejected"},
		{".", "451 4.3.0 later", "mail.unavailable"},
		{".", "552 5.3.4 too big", "mail.rejected"},
		{".", "554 5.7.1 this is spam", "mail.rejected"},
		{".", "550 5.7.2 no list for you", "mail.rejected"},
		{".", "550 5.7.26 your domain signs nothing", "mail.unavailable"},
		{".", "250 2.0.0 taken", ""},
	} {
		server := newFakeServer()
		server.auth, server.replies[c.stage] = "PLAIN", c.reply
		if c.stage == "EHLO" {
			server.replies["HELO"] = c.reply
		}
		s := newSender(t, Config{URL: "smtp://user:Hunter2@" + server.listen(t) + "?tls=none"})
		err := s.Send(t.Context(), sampleMessage())
		if c.code == "" {
			if err != nil {
				t.Errorf("%s %q: %v", c.stage, c.reply, err)
			}
			continue
		}
		if !fault.Is(err, c.code) || fault.Retryable(err) != (c.code == "mail.unavailable") {
			t.Errorf("%s %q: %v", c.stage, c.reply, err)
		} else if !strings.Contains(err.Error(), c.reply[:3]) {
			t.Errorf("%s %q: the log does not learn of it: %v", c.stage, c.reply, err)
		}
	}
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{address, "no-such-host.invalid:587"} {
		err := newSender(t, Config{URL: "smtp://" + target, Timeout: 5 * time.Second}).Send(t.Context(), sampleMessage())
		if !fault.Is(err, "mail.unavailable") {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestDownInboxIsRetried(t *testing.T) {
	t.Parallel()
	box := newInbox(t)
	s := newSender(t, Config{URL: box.URL()})
	box.SetDown(true)
	if err := s.Send(t.Context(), sampleMessage()); !fault.Is(err, "mail.unavailable") {
		t.Errorf("got %v", err)
	}
	box.SetDown(false)
	if err := s.Send(t.Context(), sampleMessage()); err != nil {
		t.Error(err)
	}
	box.only(t)
}

// What a server writes goes into logs and rows: one short line, without the recipient.
func TestServerTextIsFitForALog(t *testing.T) {
	t.Parallel()
	server := newFakeServer()
	server.replies["RCPT"] = "550-5.1.1 <alice@example.com> is unknown\x00\r\n550 5.1.1 " + strings.Repeat("é", 400)
	s := newSender(t, Config{URL: "smtp://" + server.listen(t) + "?tls=none"})
	err := s.Send(t.Context(), sampleMessage())
	if !fault.Is(err, "mail.rejected") {
		t.Fatalf("got %v", err)
	}
	text := err.Error()
	if strings.Contains(text, "alice") || strings.ContainsAny(text, "\x00\r\n") || len(text) > 500 || !strings.Contains(text, "(recipient)> is unknown") {
		t.Errorf("the text is %q", text)
	}
}
