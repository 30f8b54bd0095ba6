package inbox_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"example.com/plenary/platform/mail"
	"example.com/plenary/platform/mail/inbox"
)

const (
	childDir = "INBOX_TEST_DIR" // set in a child process, which then is an inbox instead of a test run
	childDie = "INBOX_TEST_DIE" // set: it dies after storing, before answering
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// child is an inbox in a process of its own. It lives until it is killed or its parent has gone.
func child(dir string) {
	config := inbox.Config{Dir: dir}
	if os.Getenv(childDie) != "" {
		config.BeforeAnswer = func(inbox.Mail) {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			fmt.Fprintln(os.Stderr, "killing myself:", err)
			select {}
		}
	}
	server, err := inbox.Listen(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// process is a child, and the SMTP_URL at which it answers.
type process struct {
	*exec.Cmd
	url string
}

func startProcess(t *testing.T, dir string, environment ...string) process {
	t.Helper()
	p := process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(append(os.Environ(), childDir+"="+dir), environment...)
	p.Stderr = os.Stderr
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("the child did not start")
	}
	p.url = lines.Text()
	return p
}

func listen(t *testing.T, config inbox.Config) *inbox.Server {
	t.Helper()
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	server, err := inbox.Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// send gives the mail with this id to the inbox at url.
func send(t *testing.T, url, id string) error {
	t.Helper()
	sender, err := mail.New(mail.Config{URL: url, From: "tickets@plenary.test"})
	if err != nil {
		t.Fatal(err)
	}
	return sender.Send(t.Context(), mail.Message{
		ID: id, To: mail.Address{Name: "Alice", Email: "alice@example.com"}, Subject: "mail " + id, Text: "text " + id, HTML: "<p>" + id + "</p>",
	})
}

func list(t *testing.T, store *inbox.Store) []inbox.Mail {
	t.Helper()
	mails, err := store.List(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return mails
}

func open(t *testing.T, dir string, keep int) *inbox.Store {
	t.Helper()
	store, err := inbox.OpenStore(dir, keep)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
