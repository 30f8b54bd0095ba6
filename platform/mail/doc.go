// Package mail sends one message to one person over SMTP, and says of every failure whether trying again can help.
//
// A command that sends mail is retried until the server has answered, so one message may leave twice: when the
// answer is lost after the server took the mail. What makes that harmless is the Message-ID. It is derived from
// [Message.ID], the id of the command, so that every attempt bears the same one and mail programs show one mail.
//
//	subject, text, html, err := templates.Render("payment_failed", data)
//	…
//	err = sender.Send(ctx, mail.Message{ID: commandID, To: mail.Address{Name: name, Email: email},
//		Subject: subject, Text: text, HTML: html})
//
// A [Sender] speaks to the one server that its URL names:
//
//	smtps://user:password@host:465   TLS from the first byte
//	smtp://host:587                  STARTTLS, without which nothing is sent
//	smtp://…?tls=opportunistic       STARTTLS if the server offers it; a password is sent only under TLS
//	smtp://…?tls=none                plain text, the password included
//
// It tries no other port, and falls back to nothing that the URL does not say. A certificate is verified
// wherever TLS is spoken. An attempt ends at its time limit whatever the server does, and when the context ends.
// It waits on the network all that while, so never call Send inside a transaction.
//
// Names and subjects come from people. What may become of them in a header is one written rule each: see
// [CheckAddress] for addresses, which are refused or used as they are, and headerText in header.go for the rest.
//
// The mail server of development is in package inbox.
package mail
