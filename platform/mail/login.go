package mail

import (
	"errors"
	"slices"

	"github.com/wneessen/go-mail/smtp"
)

var (
	errClear       = errors.New("the connection is not encrypted, so the password is not sent")
	errNoMechanism = errors.New("the mail server offers neither AUTH PLAIN nor AUTH LOGIN")
)

// login authenticates by PLAIN or LOGIN, whichever the server offers. It stands before go-mail's own choice,
// which sends a password in the clear to whatever is called localhost.
type login struct {
	name, password string
	clear          bool // the URL says tls=none
	chosen         smtp.Auth
}

func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS && !l.clear {
		return "", nil, errClear
	}
	switch {
	case slices.Contains(server.Auth, "PLAIN"):
		l.chosen = smtp.PlainAuth("", l.name, l.password, server.Name, l.clear)
	case slices.Contains(server.Auth, "LOGIN"):
		l.chosen = smtp.LoginAuth(l.name, l.password, server.Name, l.clear)
	default:
		return "", nil, errNoMechanism
	}
	return l.chosen.Start(server)
}

func (l *login) Next(fromServer []byte, more bool) ([]byte, error) {
	return l.chosen.Next(fromServer, more)
}
