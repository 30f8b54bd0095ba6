package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// DefaultTimeout is the time limit of an attempt where [Config] names none.
const DefaultTimeout = 10 * time.Second

// quitTimeout bounds the farewell after the server has taken the message: nothing depends on it any more.
const quitTimeout = time.Second

// Config says how mail leaves. URL and From are needed.
type Config struct {
	URL  string // the server, in the syntax of the package comment; it holds a password, so never print it
	From string // the sender: "Tickets <tickets@example.com>" or the address alone
	// Timeout bounds one attempt from the look-up of the name to the server's last answer; 0 means
	// DefaultTimeout. Keep it below the lease of the commands that send: an attempt that outlives its lease is
	// made a second time elsewhere.
	Timeout time.Duration
	// Domain is the right side of every Message-ID and the name given in the greeting; "" means From's.
	Domain string
	TLS    *tls.Config  // for a private certificate authority; nil means the system's authorities
	Logger *slog.Logger // hears of settings that allow plain text; nil discards
}

// Sender hands messages to one mail server, over a connection of its own for each. It is safe for concurrent use.
type Sender struct {
	server  server
	from    netmail.Address
	domain  string
	timeout time.Duration
	tls     *tls.Config
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// New checks the configuration and says in the log if it allows plain text; it does not speak to the server, so
// that a program can start before it. Its errors repeat no part of the URL.
func New(config Config) (*Sender, error) {
	target, err := parseURL(config.URL)
	if err != nil {
		return nil, err
	}
	from, err := netmail.ParseAddress(config.From)
	if err != nil || CheckAddress(from.Address) != nil {
		return nil, fmt.Errorf("mail: %q is not a sender; write it as \"Name <user@example.com>\"", config.From)
	}
	from.Name = clean(from.Name)
	_, fromDomain, _ := strings.Cut(from.Address, "@")
	domain := cmp.Or(config.Domain, fromDomain)
	if !isDomain(domain) {
		return nil, fmt.Errorf("mail: %q is not a domain for Message-IDs", domain)
	}
	if config.Timeout < 0 {
		return nil, errors.New("mail: the time limit of an attempt is negative")
	}

	trust := &tls.Config{}
	if config.TLS != nil {
		trust = config.TLS.Clone()
	}
	trust.ServerName = cmp.Or(trust.ServerName, target.host)
	trust.MinVersion = max(trust.MinVersion, tls.VersionTLS12)

	s := &Sender{
		server: target, from: *from, domain: domain, timeout: cmp.Or(config.Timeout, DefaultTimeout),
		tls: trust, dial: (&net.Dialer{}).DialContext,
	}
	if config.Logger != nil {
		s.announce(config.Logger)
	}
	return s, nil
}

// announce tells of settings that are meant for development, loudly where the server is another machine.
func (s *Sender) announce(logger *slog.Logger) {
	if !s.server.mode.loose() {
		return
	}
	level := slog.LevelWarn
	if ip := net.ParseIP(s.server.host); ip.IsLoopback() || s.server.host == "localhost" {
		level = slog.LevelInfo
	}
	logger.Log(context.Background(), level, "mail may leave in plain text, as SMTP_URL says", "server", s.String())
}

// String names the server and how it is spoken to, without user and password.
func (s *Sender) String() string { return s.server.address() + " (" + s.server.mode.String() + ")" }

// Timeout is the time limit of one attempt, for a check that it stays below the lease.
func (s *Sender) Timeout() time.Duration { return s.timeout }

// Send makes one attempt to hand m over, and returns nil exactly when the server has answered that it took it.
//
// It returns an Invalid fault, which no retry can heal, for an address that is refused here ("mail.bad_address"),
// a message that lacks something ("mail.bad_message"), or a recipient or content that the server refuses for
// good ("mail.rejected"). Everything else is an Unavailable fault ("mail.unavailable"): a server that is not
// there, slow, busy, not to be trusted, or that does not accept our settings. After such a fault the message may
// have arrived all the same, if the answer was lost. The context's end ends the attempt at once.
func (s *Sender) Send(ctx context.Context, m Message) error {
	msg, err := s.compose(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout,
		fmt.Errorf("no answer within %s: %w", s.timeout, context.DeadlineExceeded))
	defer cancel()

	if err := s.deliver(ctx, msg); err != nil {
		return failure(ctx, err, m.To.Email)
	}
	return nil
}

// deliver gives msg to the server. Closing the connection is what ends a wait, whichever step it is in: go-mail
// extends its own deadlines as it goes along, and knows the context only while it dials.
func (s *Sender) deliver(ctx context.Context, msg *gomail.Msg) error {
	conn, err := s.dial(ctx, "tcp", s.server.address())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()

	session := conn
	if s.server.mode == implicitTLS {
		secured := tls.Client(conn, s.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			return fmt.Errorf("start TLS: %w", err)
		}
		session = secured
	}
	client, err := s.client(session)
	if err != nil {
		return err
	}
	smtpClient, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return err
	}
	// After a failure there is no QUIT: it would first end the half-sent message, and the server would take it.
	if err := client.SendWithSMTPClient(smtpClient, msg); err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(quitTimeout))
	_ = smtpClient.Quit()
	return nil
}

// client sets go-mail up for one attempt, over a connection that exists. A client serves no second one: the login
// that it holds remembers how far it has come.
func (s *Sender) client(session net.Conn) (*gomail.Client, error) {
	options := []gomail.Option{
		gomail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return session, nil }),
		gomail.WithTLSPolicy(s.server.mode.policy()),
		gomail.WithTLSConfig(s.tls.Clone()),
		gomail.WithHELO(s.domain),
		gomail.WithTimeout(2 * s.timeout), // ours comes first, with a cause that can be read
		gomail.WithoutNoop(),
		gomail.WithoutRset(), // an error after the server took the message would look like a failure
		gomail.WithoutSMTPUTF8(),
	}
	if s.server.login != nil {
		options = append(options, gomail.WithSMTPAuthCustom(s.server.login()))
	}
	return gomail.NewClient(s.server.host, options...)
}
