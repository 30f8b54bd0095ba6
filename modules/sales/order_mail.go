package sales

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/mail"
)

//go:embed mails/*.tmpl
var mailFiles embed.FS

func parseMails() (*mail.Templates, error) {
	files, err := fs.Sub(mailFiles, "mails")
	if err != nil {
		return nil, err
	}
	return mail.ParseTemplates(files)
}

// Mailer hands a message to a mail server.
type Mailer interface {
	Send(ctx context.Context, m mail.Message) error
}

// Customers knows how to reach a customer. A NotFound fault says that there is none.
type Customers interface {
	Contact(ctx context.Context, id uuid.UUID) (name, email string, err error)
}

// orderMail is what the templates know.
type orderMail struct {
	Name, Number, Total, Link, Until string
	Reason                           string // why a payment failed
	Open                             bool   // the order can still be paid
	Paid                             bool
	Lines                            []Line
}

// mailAbout sends a mail about an order to its customer. A missing order or customer is success: another attempt
// would find the same. A mail server that does not answer is an error, and the command is tried again.
//
// The mail may leave twice, if the process dies after the server's answer and before the command is stamped
// as done; both bear the same Message-ID, that of the command.
func (m *Module) mailAbout(ctx context.Context, template string, id uuid.UUID, reason string) error {
	o, err := loadOrder(ctx, m.source, id)
	if fault.Is(err, errNoOrder.Code) {
		m.logger.InfoContext(ctx, "no mail: the order is gone", slog.String("order", id.String()), slog.String("mail", template))
		return nil
	}
	if err != nil {
		return err
	}
	name, email, err := m.customers.Contact(ctx, o.CustomerID)
	if fault.KindOf(err) == fault.NotFound {
		m.logger.InfoContext(ctx, "no mail: the customer is gone", slog.String("order", o.Number), slog.String("mail", template))
		return nil
	}
	if err != nil {
		return err
	}
	subject, text, html, err := m.mails.Render(template, orderMail{
		Name: name, Number: o.Number, Total: o.Total.String(), Reason: reasonText(reason), Lines: o.Lines,
		Open: o.Status == PaymentFailed, Paid: o.Status == Paid,
		Link: m.baseURL + "/orders/" + o.ID.String(), Until: o.ExpiresOn.UTC().Format("2 January 2006, 15:04 UTC"),
	})
	if err != nil {
		return fmt.Errorf("render %s: %w", template, err)
	}
	return m.mailer.Send(ctx, mail.Message{
		ID: command.RunID(ctx), To: mail.Address{Name: name, Email: email}, Subject: subject, Text: text, HTML: html,
	})
}

func reasonText(reason string) string {
	switch reason {
	case "insufficient_funds":
		return "the account does not cover the amount"
	case "no_answer":
		return "the bank did not answer in time"
	default:
		return "the card was declined"
	}
}

// String writes an amount for people: "129.00 EUR", "12900 JPY".
func (m Money) String() string {
	digits, ok := minorDigits[m.Currency]
	if !ok {
		digits = 2
	}
	if digits == 0 {
		return fmt.Sprintf("%d %s", m.Amount, m.Currency)
	}
	scale := int64(1)
	for range digits {
		scale *= 10
	}
	return fmt.Sprintf("%d.%0*s %s", m.Amount/scale, digits, strconv.FormatInt(m.Amount%scale, 10), m.Currency)
}

// minorDigits lists the currencies that do not have two decimals.
var minorDigits = map[string]int{
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
}
