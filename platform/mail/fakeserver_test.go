package mail

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeServer speaks just enough SMTP to be wrong in every way that a test needs, and keeps what it heard.
type fakeServer struct {
	tls          *tls.Config       // certificate for STARTTLS, and for implicit
	implicit     bool              // TLS from the first byte
	hideStartTLS bool              // as a man in the middle would
	auth         string            // what EHLO offers, such as "PLAIN LOGIN"
	replies      map[string]string // instead of the usual ones, by stage
	// silentAt is the stage at which the server stops reading and writing: "greeting", a verb, a verb and the
	// number of its occurrence ("EHLO2"), "handshake" (after STARTTLS), "body" or "." (after it).
	silentAt string
	slow     time.Duration // pause after each byte of the greeting

	mu       sync.Mutex
	commands []string
	messages []string
	running  sync.WaitGroup
	released chan struct{}
}

func newFakeServer() *fakeServer {
	return &fakeServer{replies: map[string]string{}, released: make(chan struct{})}
}

// listen serves on a TCP port until the test ends, and returns host:port.
func (f *fakeServer) listen(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f.running.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		f.stop()
	})
	return l.Addr().String()
}

func (f *fakeServer) stop() {
	close(f.released)
	f.running.Wait()
}

func (f *fakeServer) heard() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.commands...)
}

func (f *fakeServer) message(t testing.TB) string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.messages) != 1 {
		t.Fatalf("%d messages arrived, want 1", len(f.messages))
	}
	return f.messages[0]
}

// silent reports whether the conversation ends here, after waiting for the end of the test.
func (f *fakeServer) silent(stage string) bool {
	if stage != f.silentAt {
		return false
	}
	<-f.released
	return true
}

func (f *fakeServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if f.implicit {
		conn = tls.Server(conn, f.tls)
	}
	if f.silent("greeting") || !f.greet(conn) {
		return
	}
	r := bufio.NewReader(conn)
	count := map[string]int{}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		f.mu.Lock()
		f.commands = append(f.commands, line)
		f.mu.Unlock()
		verb, _, _ := strings.Cut(strings.ToUpper(line), " ")
		count[verb]++
		stage := verb
		if count[verb] > 1 {
			stage += strconv.Itoa(count[verb])
		}
		if f.silent(stage) {
			return
		}
		reply := f.reply(stage, conn)
		if _, err := io.WriteString(conn, reply+"\r\n"); err != nil || verb == "QUIT" {
			return
		}
		switch {
		case verb == "STARTTLS" && reply[0] == '2':
			if f.silent("handshake") {
				return
			}
			conn = tls.Server(conn, f.tls)
			r = bufio.NewReader(conn)
		case verb == "DATA" && reply[0] == '3':
			if f.silent("body") || !f.readMessage(r) || f.silent(".") {
				return
			}
			if _, err := io.WriteString(conn, f.reply(".", conn)+"\r\n"); err != nil {
				return
			}
		}
	}
}

func (f *fakeServer) greet(conn net.Conn) bool {
	for _, b := range []byte(f.reply("greeting", conn) + "\r\n") {
		if _, err := conn.Write([]byte{b}); err != nil {
			return false
		}
		if f.slow > 0 {
			time.Sleep(f.slow) // in a synctest bubble
		}
	}
	return true
}

func (f *fakeServer) readMessage(r *bufio.Reader) bool {
	var message strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		message.WriteString(line)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, message.String())
	return true
}

func (f *fakeServer) reply(stage string, conn net.Conn) string {
	if reply, ok := f.replies[stage]; ok {
		return reply
	}
	switch strings.TrimRight(stage, "23456789") {
	case "greeting":
		return "220 fake.test ESMTP"
	case "EHLO":
		reply := "250-fake.test\r\n"
		if _, secured := conn.(*tls.Conn); f.tls != nil && !secured && !f.hideStartTLS {
			reply += "250-STARTTLS\r\n"
		}
		if f.auth != "" {
			reply += "250-AUTH " + f.auth + "\r\n"
		}
		return reply + "250-SMTPUTF8\r\n250 ENHANCEDSTATUSCODES"
	case "STARTTLS", "QUIT":
		return "220 ok"
	case "AUTH":
		return "235 ok"
	case "DATA":
		return "354 go on"
	default:
		return "250 ok"
	}
}

// selfSigned returns a certificate for host that ends in lifetime, and what must be trusted to accept it.
func selfSigned(t testing.TB, host string, lifetime time.Duration) (server *tls.Config, authorities *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), BasicConstraintsValid: true, IsCA: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(lifetime),
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	authorities = x509.NewCertPool()
	authorities.AddCert(parsed)
	certificate := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return &tls.Config{Certificates: []tls.Certificate{certificate}}, authorities
}

func newSender(t testing.TB, config Config) *Sender {
	t.Helper()
	if config.From == "" {
		config.From = "Tickets <tickets@plenary.test>"
	}
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sampleMessage() Message {
	return Message{
		ID: "0190f0f0-1111-7222-8333-444455556666", To: Address{Name: "Alice", Email: "alice@example.com"},
		Subject: "Your order", Text: "Dear Alice", HTML: "<p>Dear Alice</p>",
	}
}
