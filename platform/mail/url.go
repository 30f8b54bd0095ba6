package mail

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"strconv"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// mode is what the URL demands of the connection.
type mode int

const (
	startTLS mode = iota // STARTTLS or nothing: the zero value is the strict one
	implicitTLS
	opportunisticTLS
	plainText
)

var modeNames = [...]string{"STARTTLS required", "implicit TLS", "TLS if offered", "no TLS"}

func (m mode) String() string { return modeNames[m] }

func (m mode) loose() bool { return m == opportunisticTLS || m == plainText }

func (m mode) policy() gomail.TLSPolicy {
	switch m {
	case opportunisticTLS:
		return gomail.TLSOpportunistic
	case plainText, implicitTLS: // implicit TLS is spoken before go-mail sees the connection
		return gomail.NoTLS
	default:
		return gomail.TLSMandatory
	}
}

// server is a parsed SMTP_URL.
type server struct {
	host, port string
	mode       mode
	login      func() smtp.Auth // nil: without. A function, so that no printed struct shows the password
}

func (s server) address() string { return net.JoinHostPort(s.host, s.port) }

// The complaints are fixed texts. A password with an unescaped "/", "?" or "#" ends up in the path, the query or
// the port of the parsed URL, and even net/url's errors quote it.
var (
	errURL = errors.New("mail: SMTP_URL is not understood; write smtps://user:password@host:465 or smtp://host:587, " +
		"with %40 for @, %2F for / and so on in user and password")
	errUser = errors.New("mail: SMTP_URL names a user or a password without the other")
	errTLS  = errors.New("mail: SMTP_URL allows tls=opportunistic or tls=none after smtp://, and nothing else")
)

func parseURL(raw string) (server, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.Fragment != "" || (u.Path != "" && u.Path != "/") {
		return server{}, errURL
	}
	s := server{host: u.Hostname()}
	switch u.Scheme {
	case "smtps":
		s.mode, s.port = implicitTLS, cmp.Or(u.Port(), "465")
	case "smtp":
		s.mode, s.port = startTLS, cmp.Or(u.Port(), "587")
	default:
		return server{}, errURL
	}
	if port, err := strconv.ParseUint(s.port, 10, 16); err != nil || port == 0 {
		return server{}, errURL
	}
	if s.mode, err = loosen(s.mode, u); err != nil {
		return server{}, err
	}
	if u.User != nil {
		name := u.User.Username()
		password, _ := u.User.Password()
		if name == "" || password == "" {
			return server{}, errUser
		}
		clear := s.mode == plainText
		s.login = func() smtp.Auth { return &login{name: name, password: password, clear: clear} }
	}
	return s, nil
}

func loosen(m mode, u *url.URL) (mode, error) {
	if u.RawQuery == "" && !u.ForceQuery {
		return m, nil
	}
	switch {
	case m == startTLS && u.RawQuery == "tls=opportunistic":
		return opportunisticTLS, nil
	case m == startTLS && u.RawQuery == "tls=none":
		return plainText, nil
	default:
		return m, errTLS
	}
}
