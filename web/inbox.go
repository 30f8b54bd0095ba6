package web

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/mail/inbox"
)

type inboxData struct {
	Mails  []inbox.Mail
	Newest string
	Next   string
}

func (s *Site) inbox(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Inbox.List(r.Context(), 0)
	if err != nil {
		return err
	}
	d := inboxData{Newest: newest(r)}
	d.Mails, d.Next, err = keyset(r, 25, func(limit int, after uuid.UUID) ([]inbox.Mail, error) {
		if after != uuid.Nil {
			all = slices.DeleteFunc(all, func(m inbox.Mail) bool { return m.ID >= after.String() })
		}
		return all[:min(limit, len(all))], nil
	}, func(m inbox.Mail) uuid.UUID { return uuid.MustParse(m.ID) })
	if err != nil {
		return err
	}
	return s.render(w, r, "inbox", show{Title: "Inbox", Section: "inbox", Data: d})
}

type mailData struct {
	inbox.Mail
	Parts []textPart
}

func (s *Site) mail(w http.ResponseWriter, r *http.Request) error {
	m, err := s.mailByID(r)
	if err != nil {
		return err
	}
	return s.render(w, r, "mail", show{Title: m.Subject, Section: "inbox", Data: mailData{Mail: m, Parts: linked(m.Text)}})
}

// mailPolicy lets the HTML of a mail have its own looks and nothing else: no script, no form, nothing from
// anywhere, and an origin of its own, so that whatever a stranger wrote reaches nothing of ours.
const mailPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; " +
	"frame-ancestors 'none'; sandbox"

func (s *Site) mailHTML(w http.ResponseWriter, r *http.Request) error {
	m, err := s.mailByID(r)
	if err != nil {
		return err
	}
	if m.HTML == "" {
		return errNoMail
	}
	w.Header().Set("Content-Security-Policy", mailPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(m.HTML))
	return nil
}

var errNoMail = fault.New(fault.NotFound, "mail_not_found", "there is no such mail")

func (s *Site) mailByID(r *http.Request) (inbox.Mail, error) {
	id, err := pathID(r, "id")
	if err != nil {
		return inbox.Mail{}, err
	}
	return findMail(r.Context(), s.Inbox, id)
}

func findMail(ctx context.Context, box Inbox, id uuid.UUID) (inbox.Mail, error) {
	all, err := box.List(ctx, 0)
	if err != nil {
		return inbox.Mail{}, err
	}
	i := slices.IndexFunc(all, func(m inbox.Mail) bool { return m.ID == id.String() })
	if i < 0 {
		return inbox.Mail{}, errNoMail
	}
	return all[i], nil
}

// textPart is a piece of a plain text; one that is an address is shown as a link.
type textPart struct {
	Text string
	Link bool
}

var address = regexp.MustCompile(`https?://[^\s<>"]+`)

// linked finds the web addresses in a text. A full stop or comma after one is not part of it.
func linked(text string) []textPart {
	var parts []textPart
	from := 0
	for _, at := range address.FindAllStringIndex(text, -1) {
		end := at[0] + len(strings.TrimRight(text[at[0]:at[1]], ".,;:!?)"))
		parts = append(parts, textPart{Text: text[from:at[0]]}, textPart{Text: text[at[0]:end], Link: true})
		from = end
	}
	return append(parts, textPart{Text: text[from:]})
}
