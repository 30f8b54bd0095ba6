package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/plenary/platform/fault"
)

const host = "127.0.0.1"

// refuse sends through server and checks that nothing but a retryable fault came of it: no password and no
// recipient in the clear, and one address dialled.
func refuse(t *testing.T, server *fakeServer, scheme, query string, trust *x509.CertPool, want string) {
	t.Helper()
	address := server.listen(t)
	s := newSender(t, Config{URL: scheme + "://user:Hunter2@" + address + query, TLS: &tls.Config{RootCAs: trust}})
	var dialled []string
	dial := s.dial
	s.dial = func(ctx context.Context, network, to string) (net.Conn, error) {
		dialled = append(dialled, to)
		return dial(ctx, network, to)
	}
	err := s.Send(t.Context(), sampleMessage())
	if fault.KindOf(err) != fault.Unavailable || !fault.Is(err, "mail.unavailable") {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Hunter2") {
		t.Errorf("error = %v, want it to say %q", err, want)
	}
	if !slices.Equal(dialled, []string{address}) {
		t.Errorf("dialled %q", dialled)
	}
	for _, line := range server.heard() {
		for _, verb := range []string{"AUTH", "MAIL", "RCPT", "DATA"} {
			if strings.HasPrefix(line, verb) {
				t.Errorf("the server heard %q", line)
			}
		}
	}
}

func TestNothingIsSentWithoutSTARTTLS(t *testing.T) {
	t.Parallel()
	server := newFakeServer()
	server.auth = "PLAIN LOGIN"
	refuse(t, server, "smtp", "", nil, "does not support STARTTLS")
}

func TestNothingIsSentWhenSTARTTLSIsStripped(t *testing.T) {
	t.Parallel()
	server := newFakeServer()
	var trust *x509.CertPool
	server.tls, trust = selfSigned(t, host, time.Hour)
	server.hideStartTLS, server.auth = true, "PLAIN"
	refuse(t, server, "smtp", "", trust, "does not support STARTTLS")
}

func TestRefusedSTARTTLSIsNoPlainText(t *testing.T) {
	t.Parallel()
	server := newFakeServer()
	var trust *x509.CertPool
	server.tls, trust = selfSigned(t, host, time.Hour)
	server.auth, server.replies["STARTTLS"] = "PLAIN", "454 TLS is not available"
	refuse(t, server, "smtp", "?tls=opportunistic", trust, "454")
}

func TestBadCertificates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, host string
		lifetime   time.Duration
		trusted    bool
		want       string
	}{
		{"expired", host, -time.Hour, true, "expired"},
		{"self-signed", host, time.Hour, false, "unknown authority"},
		{"of another host", "other.test", time.Hour, true, "127.0.0.1"},
	} {
		for _, scheme := range []string{"smtp", "smtps", "smtp?tls=opportunistic"} {
			t.Run(c.name+" "+scheme, func(t *testing.T) {
				t.Parallel()
				server := newFakeServer()
				trust := x509.NewCertPool()
				var authorities *x509.CertPool
				server.tls, authorities = selfSigned(t, c.host, c.lifetime)
				if c.trusted {
					trust = authorities
				}
				scheme, query, _ := strings.Cut(scheme, "?")
				if query != "" {
					query = "?" + query
				}
				server.implicit, server.auth = scheme == "smtps", "PLAIN"
				refuse(t, server, scheme, query, trust, c.want)
				refuseMessage(t, server)
			})
		}
	}
}

func refuseMessage(t *testing.T, server *fakeServer) {
	t.Helper()
	server.mu.Lock()
	defer server.mu.Unlock()
	if len(server.messages) > 0 {
		t.Errorf("the server got %q", server.messages)
	}
}

func TestPasswordStaysHomeWithoutTLS(t *testing.T) {
	t.Parallel()
	server := newFakeServer() // on loopback, where go-mail itself would send it
	server.auth = "PLAIN LOGIN"
	refuse(t, server, "smtp", "?tls=opportunistic", nil, "password is not sent")
}

func TestPasswordWithoutAKnownMechanism(t *testing.T) {
	t.Parallel()
	server := newFakeServer()
	server.auth = "XOAUTH2"
	refuse(t, server, "smtp", "?tls=none", nil, "neither AUTH PLAIN nor AUTH LOGIN")
}

func TestImplicitTLSSpokenToAPlainPort(t *testing.T) {
	t.Parallel()
	refuse(t, newFakeServer(), "smtps", "", nil, "TLS")
}

// STARTTLS spoken to a port of implicit TLS: each side waits for the other, until the time limit.
func TestSTARTTLSSpokenToAnImplicitPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer()
		server.tls, _ = selfSigned(t, host, time.Hour)
		server.implicit = true
		began := time.Now()
		err := overPipe(t, server, "smtp://127.0.0.1:465").Send(t.Context(), sampleMessage())
		if fault.KindOf(err) != fault.Unavailable || time.Since(began) != DefaultTimeout {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

func TestMailLeavesUnderTLS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ scheme, query, auth, want string }{
		{"smtp", "", "PLAIN LOGIN", "AUTH PLAIN AHVzZXIASHVudGVyMg=="},
		{"smtps", "", "PLAIN LOGIN", "AUTH PLAIN AHVzZXIASHVudGVyMg=="},
		{"smtp", "?tls=opportunistic", "PLAIN LOGIN", "AUTH PLAIN AHVzZXIASHVudGVyMg=="},
		{"smtp", "", "LOGIN", "AUTH LOGIN"},
	} {
		server := newFakeServer()
		config, trust := selfSigned(t, host, time.Hour)
		server.tls, server.auth, server.implicit = config, c.auth, c.scheme == "smtps"
		s := newSender(t, Config{
			URL: c.scheme + "://user:Hunter2@" + server.listen(t) + c.query, TLS: &tls.Config{RootCAs: trust},
		})
		if err := s.Send(t.Context(), sampleMessage()); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		heard := server.heard()
		secured := slices.Index(heard, "STARTTLS")
		if secured < 0 && !server.implicit || slices.Index(heard, c.want) <= secured {
			t.Errorf("%+v: the server heard %q", c, heard)
		}
		if !strings.Contains(server.message(t), "Message-ID: <"+sampleMessage().ID+"@plenary.test>") {
			t.Errorf("%+v: the message is %q", c, server.message(t))
		}
	}
}

func TestPlainTextOnlyByExplicitWish(t *testing.T) {
	t.Parallel()
	server := newFakeServer()
	server.auth = "PLAIN"
	s := newSender(t, Config{URL: "smtp://user:Hunter2@" + server.listen(t) + "?tls=none"})
	if err := s.Send(t.Context(), sampleMessage()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(server.heard(), "AUTH PLAIN AHVzZXIASHVudGVyMg==") {
		t.Errorf("the server heard %q", server.heard())
	}
}
