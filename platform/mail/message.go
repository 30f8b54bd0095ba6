package mail

import (
	netmail "net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"example.com/plenary/platform/fault"
)

// Message is one mail to one person.
type Message struct {
	// ID is the stable id of what sends the mail, such as a command's: the same for every attempt. The
	// Message-ID is <ID@domain>.
	ID      string
	To      Address
	Subject string // any text; it arrives as it is, but for control characters
	Text    string // the plain part
	HTML    string // the same for programs that show HTML; one of the two may be empty
}

// compose builds the message that goes over the wire.
func (s *Sender) compose(m Message) (*gomail.Msg, error) {
	if err := CheckAddress(m.To.Email); err != nil {
		return nil, err
	}
	if len(m.ID) > 128 || !isDotAtom(m.ID) {
		return nil, fault.New(fault.Invalid, "mail.bad_message", "the mail's id is not fit for a Message-ID")
	}
	if m.Text == "" && m.HTML == "" {
		return nil, fault.New(fault.Invalid, "mail.bad_message", "the mail has no text")
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.SetMessageIDWithValue(m.ID + "@" + s.domain)
	msg.SetDate()
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // keeps holiday notices from answering us
	msg.FromMailAddress(&s.from)
	// The envelope has one recipient, the bare address. go-mail takes it from here and writes no such header;
	// the visible one, with the name in it, never reaches the envelope.
	msg.BccMailAddress(&netmail.Address{Address: m.To.Email})
	msg.SetGenHeaderPreformatted("To", mailbox(m.To))
	msg.Subject(headerText(m.Subject))
	setBody(msg, m)
	return msg, nil
}

func setBody(msg *gomail.Msg, m Message) {
	set := msg.SetBodyString
	for _, part := range []struct {
		kind    gomail.ContentType
		content string
	}{{gomail.TypeTextPlain, m.Text}, {gomail.TypeTextHTML, m.HTML}} {
		if part.content != "" {
			set(part.kind, strings.ToValidUTF8(part.content, "\uFFFD"))
			set = msg.AddAlternativeString
		}
	}
}
