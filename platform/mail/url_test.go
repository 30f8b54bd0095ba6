package mail

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestURLForms(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"smtps://user:p%40ss@mail.test:465":         "mail.test:465 (implicit TLS)",
		"smtps://mail.test":                         "mail.test:465 (implicit TLS)",
		"smtp://mail.test:587":                      "mail.test:587 (STARTTLS required)",
		"smtp://mail.test/":                         "mail.test:587 (STARTTLS required)",
		"smtp://[::1]:2525?tls=none":                "[::1]:2525 (no TLS)",
		"smtp://user:x@mail.test?tls=opportunistic": "mail.test:587 (TLS if offered)",
	} {
		if got := newSender(t, Config{URL: raw}).String(); got != want {
			t.Errorf("%s is %s, want %s", raw, got, want)
		}
	}
}

// A password that nobody escaped lands in the port, the path, the query or the fragment. No complaint quotes it.
func TestBadURLIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "mail.test:587", "http://user:Hunter2@mail.test", "smtp://", "smtp://user:Hunter2@", "smtp:user:Hunter2@mail.test",
		"smtp://user:Hunter2/x@mail.test", "smtp://user:Hunter2?x@mail.test", "smtp://user:Hunter2#x@mail.test",
		"smtp://user:12/Hunter2@mail.test", "smtp://user:12?Hunter2@mail.test", "smtp://user:12#Hunter2@mail.test",
		"smtp://user:%zzHunter2@mail.test", "smtp://user:Hunter2 @mail.test", "smtp://user:Hunter2\n@mail.test",
		"smtp://user:Hunter2@mail.test:0", "smtp://user:Hunter2@mail.test:65536", "smtp://user:Hunter2@mail.test:x",
		"smtp://user:Hunter2@mail.test/path", "smtp://user:Hunter2@mail.test?tls=maybe", "smtp://user:Hunter2@mail.test?TLS=none",
		"smtp://user:Hunter2@mail.test?tls=none&x=1", "smtps://user:Hunter2@mail.test?tls=none", "smtp://user@mail.test",
		"smtp://:Hunter2@mail.test", "smtp://user:@mail.test", "smtp://user:Hunter2@mail.test?",
	} {
		_, err := New(Config{URL: raw, From: "a@b.test"})
		if err == nil {
			t.Errorf("%q is accepted", raw)
		} else if strings.Contains(err.Error(), "Hunter2") || strings.Contains(err.Error(), "user:") && !strings.Contains(err.Error(), "user:password@") {
			t.Errorf("%q: the complaint gives the password away: %v", raw, err)
		}
	}
}

func TestSenderIsPrintedWithoutPassword(t *testing.T) {
	t.Parallel()
	s := newSender(t, Config{URL: "smtps://user:Hunter2@mail.test"})
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, s) + fmt.Sprintf(format, *s); strings.Contains(got, "Hunter2") {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, config := range []Config{
		{From: ""},
		{From: "nobody"},
		{From: `"a b"@c.test`},
		{From: "a@b.test, c@d.test"},
		{From: "a@b.test\r\nBcc: x@evil.test"},
		{From: "a@b.test", Domain: "not a domain"},
		{From: "a@b.test", Domain: strings.Repeat("a.", 127) + "test"},

		{From: "a@b.test", Timeout: -1},
	} {
		config.URL = "smtp://mail.test"
		if _, err := New(config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
	if got := newSender(t, Config{URL: "smtp://mail.test"}).Timeout(); got != 10*time.Second {
		t.Errorf("the time limit is %v", got)
	}
}

func TestPlainTextIsAnnounced(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"smtp://u:Hunter2@mail.test?tls=none":          "level=WARN",
		"smtp://u:Hunter2@mail.test?tls=opportunistic": "level=WARN",
		"smtp://127.0.0.1:2525?tls=none":               "level=INFO",
		"smtp://mail.test":                             "",
		"smtps://mail.test":                            "",
	} {
		var log bytes.Buffer
		newSender(t, Config{URL: raw, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if got := log.String(); (want == "") != (got == "") || !strings.Contains(got, want) || strings.Contains(got, "Hunter2") {
			t.Errorf("%s logs %q", raw, got)
		}
	}
}
