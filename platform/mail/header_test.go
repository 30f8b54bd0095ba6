package mail

import (
	"encoding/base64"
	"mime"
	netmail "net/mail"
	"strings"
	"testing"
	"unicode/utf8"
)

var hostileTexts = []string{
	"", "Alice", "Alice Example", "A\r\nBcc: x@evil.test", "A\nBcc: x@evil.test", "A\rB", "A\x00B", "\r\n\r\nbody", "tab\there",
	"Smith, Jo <x@evil.test>", "(comment)", `quo"ted \ back`, "=?utf-8?q?Bcc?=", "half =?utf-8?q?", "two  spaces", " edges ",
	"Zoë Müller", "\u2028\u2029\u0085", "broken \xff utf", "a,b;c:d", "'", "\"", "\\", "@", "x@y.z", "<>", "\u202eright to left\u202c",
	"שלום עולם مرحبا", strings.Repeat("🎉", 300), strings.Repeat("x", 1000), strings.Repeat("word ", 300) + "end",
	strings.Repeat("é", 200) + strings.Repeat("a", 200), strings.Repeat(" ", 200) + "x", "e\u0301combining",
}

func FuzzHeader(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(text)
	}
	f.Fuzz(checkHeader)
}

// checkHeader writes text into both kinds of header and reads it back as a mail program does.
func checkHeader(t *testing.T, text string) {
	want := clean(text)
	subject := headerText(text)
	if got := decodeWords(t, subject); got != want {
		t.Errorf("subject %q decodes to %q, want %q", text, got, want)
	}
	if strings.ContainsAny(subject, "\r\n") {
		t.Errorf("subject %q contains a line break", subject)
	}
	box := mailbox(Address{Name: text, Email: "alice@example.com"})
	parsed, err := netmail.ParseAddressList(strings.ReplaceAll(box, "\r\n ", " "))
	if err != nil || len(parsed) != 1 {
		t.Fatalf("mailbox of %q is %q: %v, %v", text, box, parsed, err)
	}
	if parsed[0].Name != want || parsed[0].Address != "alice@example.com" {
		t.Errorf("mailbox of %q parses to %q <%s>", text, parsed[0].Name, parsed[0].Address)
	}
	for line := range strings.SplitSeq(box, "\r\n") {
		if len(line) > 500 || strings.ContainsAny(line, "\r\n\x00") || strings.TrimSpace(line) == "" {
			t.Errorf("mailbox line %q", line)
		}
	}
	for word := range strings.SplitSeq(subject, " ") {
		if len(word) > 75 {
			t.Errorf("subject word %q is too long", word)
		}
		encoded, isEncoded := strings.CutPrefix(strings.TrimSuffix(word, "?="), "=?utf-8?b?")
		if raw, err := base64.StdEncoding.DecodeString(encoded); isEncoded && (err != nil || !utf8.Valid(raw)) {
			t.Errorf("subject word %q cuts a character in two", word)
		}
	}
}

func decodeWords(t *testing.T, value string) string {
	t.Helper()
	decoded, err := new(mime.WordDecoder).DecodeHeader(value)
	if err != nil {
		t.Errorf("decode %q: %v", value, err)
	}
	return decoded
}

func TestCleanIsTheWrittenRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A\r\nBcc: x@evil.test": "A Bcc: x@evil.test",
		"\r\n\x00A\t\tB\x7f":    "A B",
		"A\u2028B\u0085C":       "A B C",
		"A\xffB":                "A\uFFFDB",
		"  as  it  is  ":        "  as  it  is  ",
		"\u202eRTL":             "\u202eRTL",
	} {
		if got := clean(text); got != want {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestPlainTextIsNotEncoded(t *testing.T) {
	t.Parallel()
	const subject = "We could not charge your card for order 2026-000123, please pay again"
	if got := headerText(subject); got != subject {
		t.Errorf("headerText = %q", got)
	}
	if got, want := mailbox(Address{Name: "Smith, Jo", Email: "jo@example.com"}), `"Smith, Jo" <jo@example.com>`; got != want {
		t.Errorf("mailbox = %q, want %q", got, want)
	}
}
