package inbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/textproto"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/mail/inbox"
)

// talk opens a connection and sends lines one by one. It returns the last line of each answer, the greeting's first.
func talk(t *testing.T, server *inbox.Server, lines ...string) (answers []string, conn net.Conn) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r := bufio.NewReader(conn)
	for _, line := range append([]string{""}, lines...) {
		if line != "" {
			if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		answers = append(answers, answer(t, r))
	}
	return answers, conn
}

func answer(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "EOF"
		}
		if len(line) < 4 || line[3] != '-' {
			return strings.TrimSpace(line)
		}
	}
}

func wantCodes(t *testing.T, answers []string, codes ...string) {
	t.Helper()
	for i, code := range codes {
		if i >= len(answers) || !strings.HasPrefix(answers[i], code) {
			t.Errorf("answers %q, want codes %q", answers, codes)
			return
		}
	}
}

func TestRestartKeepsMails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 3 {
		server := listen(t, inbox.Config{Dir: dir})
		if err := send(t, server.URL(), fmt.Sprint("m-", i)); err != nil {
			t.Fatal(err)
		}
		if err := server.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mails := list(t, open(t, dir, 0))
	if len(mails) != 3 || mails[0].Subject != "mail m-2" || mails[2].Subject != "mail m-0" {
		t.Errorf("got %+v", mails)
	}
}

func TestDownRefusesEverythingForNow(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{})
	server.SetDown(true)
	answers, _ := talk(t, server, "EHLO a.test", "MAIL FROM:<a@b.test>")
	wantCodes(t, answers, "220", "421", "502")
	if err := send(t, server.URL(), "m"); !fault.Is(err, "mail.unavailable") {
		t.Errorf("got %v", err)
	}
	server.SetDown(false)
	if err := send(t, server.URL(), "m"); err != nil {
		t.Error(err)
	}
}

func TestDownReachesThoseWhoAreConnected(t *testing.T) {
	t.Parallel()
	for stage := range 3 {
		server := listen(t, inbox.Config{})
		lines := []string{"EHLO a.test", "MAIL FROM:<a@b.test>", "RCPT TO:<a@b.test>", "DATA"}
		_, conn := talk(t, server, lines[:stage+1]...)
		server.SetDown(true)
		next := lines[stage+1]
		if next == "DATA" {
			next += "\r\nSubject: x\r\n\r\n.\r\n"
		}
		if _, err := io.WriteString(conn, next+"\r\n"); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		got := answer(t, r)
		if strings.HasPrefix(got, "354") {
			got = answer(t, r)
		}
		if !strings.HasPrefix(got, "421") {
			t.Errorf("%s: %q", lines[stage+1], got)
		}
		if mails := list(t, server.Store()); len(mails) > 0 {
			t.Errorf("got %+v", mails)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{MaxBytes: 1000, MaxRecipients: 2})
	answers, _ := talk(t, server, "EHLO a.test", "MAIL FROM:<a@b.test>", "RCPT TO:<a@b.test>", "RCPT TO:<c@b.test>", "RCPT TO:<d@b.test>")
	wantCodes(t, answers, "220", "250", "250", "250", "250", "452")
	answers, _ = talk(t, server, "EHLO a.test", "MAIL FROM:<a@b.test>", "RCPT TO:<a@b.test>", "DATA",
		"Subject: x\r\n\r\n"+strings.Repeat("0123456789\r\n", 100)+".", "NOOP")
	wantCodes(t, answers, "220", "250", "250", "250", "354", "552", "250")
	if mails := list(t, server.Store()); len(mails) > 0 {
		t.Errorf("got %+v", mails)
	}
}

func TestSilentClientIsSentAway(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{Timeout: 50 * time.Millisecond})
	for _, lines := range [][]string{{}, {"EHLO a.test"}, {"EHLO a.test", "MAIL FROM:<a@b.test>", "RCPT TO:<a@b.test>", "DATA"}} {
		_, conn := talk(t, server, lines...)
		if _, err := io.Copy(io.Discard, conn); err != nil { // ends when the server hangs up
			t.Error(err)
		}
	}
}

func TestBrokenTransferIsNotStored(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{})
	_, conn := talk(t, server, "EHLO a.test", "MAIL FROM:<a@b.test>", "RCPT TO:<a@b.test>", "DATA")
	if _, err := io.WriteString(conn, "Subject: half\r\n\r\nhal"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if mails := list(t, server.Store()); len(mails) > 0 {
		t.Errorf("got %+v", mails)
	}
}

func TestEnvelopeDecidesWhoItIsTo(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{})
	answers, _ := talk(t, server, "EHLO a.test", "MAIL FROM:<>", "RCPT TO:<a@b.test>", `RCPT TO:<"c`+"\x01"+`d"@b.test>`, "DATA",
		"To: someone@else.test\r\nX-Envelope-To: forged@evil.test\r\nSubject: x\r\n\r\nbody\r\n.")
	wantCodes(t, answers, "220", "250", "250", "250", "250", "354", "250")
	if m := list(t, server.Store())[0]; m.To != "a@b.test, c?d@b.test" || m.Text != "body\n" {
		t.Errorf("got %+v", m)
	}
}

func TestFolderThatCannotBeWrittenIsNotTheSendersBusiness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/mail"
	var log bytes.Buffer
	server := listen(t, inbox.Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	answers, conn := talk(t, server, "EHLO a.test", "MAIL FROM:<a@b.test>", "RCPT TO:<a@b.test>", "DATA", "Subject: x\r\n\r\nx\r\n.")
	wantCodes(t, answers, "220", "250", "250", "250", "354", "451")
	if strings.Contains(answers[5], dir) {
		t.Errorf("the answer is %q", answers[5])
	}
	_ = conn.Close()
	if err := server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "a mail is not stored") {
		t.Errorf("the log is %q", log.String())
	}
}

func TestBeforeAnswerRunsBetweenStoringAndAnswering(t *testing.T) {
	t.Parallel()
	stored, release := make(chan inbox.Mail), make(chan struct{})
	server := listen(t, inbox.Config{BeforeAnswer: func(m inbox.Mail) {
		stored <- m
		<-release
	}})
	sent := make(chan error, 1)
	go func() { sent <- send(t, server.URL(), "m") }()

	m := <-stored
	if mails := list(t, server.Store()); len(mails) != 1 || mails[0] != m {
		t.Errorf("got %+v, want %+v", mails, m)
	}
	select {
	case err := <-sent:
		t.Errorf("the sender was answered: %v", err)
	default:
	}
	// A shutdown lets the sender have its answer.
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	close(release)
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestShutdownCutsOffThoseWhoLinger(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{Timeout: time.Hour})
	_, conn := talk(t, server, "EHLO a.test")
	_, early := talk(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for _, c := range []net.Conn{conn, early} {
		_, _ = io.Copy(io.Discard, c) // ends: the server has hung up
	}
	if _, err := net.Dial("tcp", server.Addr()); err == nil {
		t.Error("the server still listens")
	}
	if err := server.Shutdown(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("the second call: %v", err)
	}
	server.Close()
}

func TestTakenAddress(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{})
	if _, err := inbox.Listen(inbox.Config{Dir: t.TempDir(), Addr: server.Addr()}); err == nil {
		t.Error("two servers on one address")
	}
}

func TestPanicInBeforeAnswerEndsOneConnection(t *testing.T) {
	t.Parallel()
	server := listen(t, inbox.Config{BeforeAnswer: func(inbox.Mail) { panic("boom") }})
	if err := send(t, server.URL(), "m"); !fault.Is(err, "mail.unavailable") {
		t.Errorf("got %v", err)
	}
	if _, err := textproto.Dial("tcp", server.Addr()); err != nil {
		t.Error(err)
	}
}
