package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"example.com/plenary/platform/fault"
)

// overPipe returns a sender whose connections end at server through memory, so that a synctest bubble can turn
// the clock. The server is released and waited for when the test ends.
func overPipe(t *testing.T, server *fakeServer, url string) *Sender {
	t.Helper()
	config := Config{URL: url}
	if server.tls != nil {
		trust := x509.NewCertPool()
		leaf, err := x509.ParseCertificate(server.tls.Certificates[0].Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		trust.AddCert(leaf)
		config.TLS = &tls.Config{RootCAs: trust}
	}
	s := newSender(t, config)
	s.dial = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		server.running.Go(func() { server.serve(far) })
		return near, nil
	}
	t.Cleanup(server.stop)
	return s
}

var stages = []string{
	"greeting", "EHLO", "STARTTLS", "handshake", "EHLO2", "AUTH", "MAIL", "RCPT", "DATA", "body", ".",
}

// Whatever step the server falls silent in, the attempt ends when its time is up, and when its context ends.
func TestSilentServer(t *testing.T) {
	for _, stage := range stages {
		t.Run(stage, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newFakeServer()
				server.tls, _ = selfSigned(t, host, time.Hour)
				server.auth, server.silentAt = "PLAIN", stage
				s := overPipe(t, server, "smtp://user:Hunter2@127.0.0.1")

				began := time.Now()
				err := s.Send(t.Context(), sampleMessage())
				if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(began); took != DefaultTimeout {
					t.Errorf("the attempt took %v", took)
				}

				began = time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				err = s.Send(ctx, sampleMessage())
				if took := time.Since(began); fault.KindOf(err) != fault.Unavailable || took != 3*time.Second {
					t.Errorf("got %v after %v", err, took)
				}
			})
		})
	}
}

func TestOneByteAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer()
		server.slow = time.Minute
		began := time.Now()
		err := overPipe(t, server, "smtp://127.0.0.1?tls=none").Send(t.Context(), sampleMessage())
		if took := time.Since(began); fault.KindOf(err) != fault.Unavailable || took != DefaultTimeout {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// What is said after the server has taken the message changes nothing: a failure would send it again.
func TestNothingAfterTheAnswerMatters(t *testing.T) {
	for _, spoil := range []func(*fakeServer){
		func(f *fakeServer) { f.silentAt = "QUIT" },
		func(f *fakeServer) { f.replies["QUIT"] = "554 I never liked you" },
		func(f *fakeServer) { f.replies["RSET"] = "502 what is that" },
		func(f *fakeServer) { f.replies["."] = "250 ok\r\n421 and now I am off" },
	} {
		synctest.Test(t, func(t *testing.T) {
			server := newFakeServer()
			spoil(server)
			began := time.Now()
			if err := overPipe(t, server, "smtp://127.0.0.1?tls=none").Send(t.Context(), sampleMessage()); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > quitTimeout {
				t.Errorf("the farewell took %v", took)
			}
			server.message(t)
		})
	}
}

func TestCancelledBeforeItBegins(t *testing.T) {
	t.Parallel()
	server := newFakeServer()
	s := newSender(t, Config{URL: "smtp://" + server.listen(t) + "?tls=none"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Send(ctx, sampleMessage()); !errors.Is(err, context.Canceled) || fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
	if heard := server.heard(); len(heard) > 0 {
		t.Errorf("the server heard %q", heard)
	}
}
