package inbox

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// Mail is a received message as a person sees it.
type Mail struct {
	ID         string    `json:"id"`
	MessageID  string    `json:"messageId"` // the header as it came, angle brackets included
	To         string    `json:"to"`        // the recipient of the envelope; several stand with ", " between them
	Subject    string    `json:"subject"`
	Text       string    `json:"text"`
	HTML       string    `json:"html"`
	ReceivedOn time.Time `json:"receivedOn"`
}

// The two lines that the server puts before a message: who it came from and who it is for, by the envelope.
const (
	returnPath = "Return-Path"
	envelopeTo = "X-Envelope-To"
)

func envelopeHeader(from string, recipients []string) []byte {
	lines := returnPath + ": <" + oneLine(from) + ">\r\n" +
		envelopeTo + ": " + oneLine(strings.Join(recipients, ", ")) + "\r\n"
	return []byte(lines)
}

// oneLine keeps an address with a control character in it, which some programs do send, from ending our line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

const unreadable = "(this message cannot be read)"

// read never fails: of a damaged message it returns what is whole.
func read(id uuid.UUID, raw []byte) Mail {
	seconds, nanoseconds := id.Time().UnixTime()
	m := Mail{ID: id.String(), ReceivedOn: time.Unix(seconds, nanoseconds).UTC()}
	reader := textproto.NewReader(bufio.NewReader(bytes.NewReader(raw)))
	header, err := reader.ReadMIMEHeader() // also returns the lines before the one that is damaged
	m.MessageID = text(header.Get("Message-ID"))
	m.To = text(header.Get(envelopeTo)) // the first of that name, which is ours
	m.Subject = text(decodeWords(header.Get("Subject")))
	if err != nil {
		m.Subject = cmp.Or(m.Subject, unreadable)
		return m
	}
	m.readPart(header, reader.R, 0)
	return m
}

const maxDepth = 8 // of parts within parts; a real mail has three

// readPart keeps the first plain and the first HTML text that it meets, attachments aside.
func (m *Mail) readPart(header textproto.MIMEHeader, body io.Reader, depth int) {
	kind, params, err := mime.ParseMediaType(cmp.Or(header.Get("Content-Type"), "text/plain"))
	if err != nil && kind == "" {
		kind = "text/plain"
	}
	if strings.HasPrefix(kind, "multipart/") && depth < maxDepth {
		parts := multipart.NewReader(body, params["boundary"])
		for part, err := parts.NextRawPart(); err == nil; part, err = parts.NextRawPart() {
			m.readPart(part.Header, part, depth+1)
		}
		return
	}
	disposition, _, _ := mime.ParseMediaType(header.Get("Content-Disposition"))
	if disposition == "attachment" {
		return
	}
	switch {
	case kind == "text/plain" && m.Text == "":
		m.Text = decodeBody(header, body)
	case kind == "text/html" && m.HTML == "":
		m.HTML = decodeBody(header, body)
	}
}

func decodeBody(header textproto.MIMEHeader, body io.Reader) string {
	switch strings.ToLower(header.Get("Content-Transfer-Encoding")) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	content, _ := io.ReadAll(body) // an error means that the rest is missing
	return text(strings.ReplaceAll(string(content), "\r\n", "\n"))
}

func decodeWords(value string) string {
	decoded, err := new(mime.WordDecoder).DecodeHeader(value)
	if err != nil {
		return value // a character set that we do not know: better the encoded text than none
	}
	return decoded
}

// text makes what a stranger wrote safe for JSON.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
