package inbox_test

import (
	"context"
	"fmt"
	"os"

	"example.com/plenary/platform/mail"
	"example.com/plenary/platform/mail/inbox"
)

func Example() {
	dir, err := os.MkdirTemp("", "inbox")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := inbox.Listen(inbox.Config{Dir: dir, BeforeAnswer: func(m inbox.Mail) { fmt.Println("on disk:", m.Subject) }})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	sender, err := mail.New(mail.Config{URL: server.URL(), From: "tickets@plenary.example"})
	if err != nil {
		panic(err)
	}
	hello := mail.Message{ID: "019313a0", To: mail.Address{Email: "alice@example.com"}, Subject: "Hello", Text: "Hello, Alice"}
	fmt.Println("sent:", sender.Send(context.Background(), hello))

	server.SetDown(true)
	fmt.Println("sent:", sender.Send(context.Background(), hello) == nil)

	mails, err := server.Store().List(context.Background(), 10)
	if err != nil {
		panic(err)
	}
	for _, m := range mails {
		fmt.Println(m.To, m.Text)
	}
	// Output:
	// on disk: Hello
	// sent: <nil>
	// sent: false
	// alice@example.com Hello, Alice
}
