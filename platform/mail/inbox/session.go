package inbox

import (
	"io"

	"github.com/emersion/go-smtp"
)

var (
	errDown  = &smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCode{4, 3, 2}, Message: "The inbox is switched off"}
	errStore = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "The inbox cannot store mail"}
)

// session is one connection's conversation. The library calls it from one goroutine at a time.
type session struct {
	server     *Server
	from       string
	recipients []string
}

func (s *Server) newSession(*smtp.Conn) (smtp.Session, error) {
	if s.down.Load() {
		return nil, errDown
	}
	return &session{server: s}, nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.down.Load() {
		return errDown
	}
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.server.down.Load() {
		return errDown
	}
	s.recipients = append(s.recipients, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	if s.server.down.Load() {
		return errDown
	}
	message, err := io.ReadAll(r)
	if err != nil {
		return err // too large, or cut off: the library knows what to answer
	}
	stored, err := s.server.store.add(s.from, s.recipients, message)
	if err != nil {
		s.server.config.Logger.Error("a mail is not stored", "error", err)
		return errStore // the cause names our files, which is not the sender's business
	}
	if err := s.server.store.prune(); err != nil {
		s.server.config.Logger.Warn("old mails are not removed", "error", err)
	}
	if s.server.config.BeforeAnswer != nil {
		s.server.config.BeforeAnswer(stored)
	}
	return nil
}

func (s *session) Reset() { s.from, s.recipients = "", nil }

func (s *session) Logout() error { return nil }
