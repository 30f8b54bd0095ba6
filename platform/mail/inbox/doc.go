// Package inbox is the mail server of development and of tests: a real SMTP server inside the program, and a
// folder in which everything that it takes can be read.
//
//	server, err := inbox.Listen(inbox.Config{Dir: filepath.Join(dataDir, "mail")})
//	…
//	sender, err := mail.New(mail.Config{URL: server.URL(), From: "tickets@example.com"})
//	…
//	mails, err := server.Store().List(ctx, 50) // newest first
//
// Every message is one .eml file, which any mail program opens. It is on disk under its final name before the
// server answers 250, so what was answered survives the program's death, and a message that was cut off is never
// seen. Several processes may share one folder.
//
// Two switches are for demonstrations and tests. [Server.SetDown] makes the server refuse everything for now, as
// one in trouble does. [Config.BeforeAnswer] runs between storing a message and the answer: where a program that
// dies leaves a mail that its sender believes unsent.
//
// The server asks nobody who they are. Let it listen on a loopback address only.
package inbox
