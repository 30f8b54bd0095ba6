package mail_test

import (
	"context"
	"fmt"
	"os"
	"testing/fstest"

	"example.com/plenary/platform/mail"
	"example.com/plenary/platform/mail/inbox"
)

func Example() {
	dir, err := os.MkdirTemp("", "inbox")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := inbox.Listen(inbox.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	// A module embeds its templates with go:embed.
	templates, err := mail.ParseTemplates(fstest.MapFS{
		"payment_failed.txt.tmpl":  {Data: []byte("Subject: Payment for order {{.Number}} failed\n\nDear {{.Name}}, please pay again.")},
		"payment_failed.html.tmpl": {Data: []byte("<p>Dear {{.Name}}, please pay again.</p>")},
	})
	if err != nil {
		panic(err)
	}
	subject, text, html, err := templates.Render("payment_failed", map[string]string{"Number": "000042", "Name": "Zoë & Co"})
	if err != nil {
		panic(err)
	}

	sender, err := mail.New(mail.Config{URL: server.URL(), From: "Tickets <tickets@plenary.example>"})
	if err != nil {
		panic(err)
	}
	err = sender.Send(context.Background(), mail.Message{
		ID: "019313a0", To: mail.Address{Name: "Zoë & Co", Email: "zoe@example.com"}, Subject: subject, Text: text, HTML: html,
	})
	if err != nil {
		panic(err)
	}

	mails, err := server.Store().List(context.Background(), 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(mails[0].MessageID, mails[0].To)
	fmt.Println(mails[0].Subject)
	fmt.Println(mails[0].HTML)
	// Output:
	// <019313a0@plenary.example> zoe@example.com
	// Payment for order 000042 failed
	// <p>Dear Zoë &amp; Co, please pay again.</p>
}
