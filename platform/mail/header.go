package mail

import (
	"encoding/base64"
	netmail "net/mail"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPlainWord = 60 // longer words are encoded, which cuts them: a line of a message ends by byte 998
	maxPlainName = 60
	encodedChunk = 39 // bytes of text in one encoded word: 64 characters, below the 75 of RFC 2047
)

// clean makes text fit for one line of a header. Each run of control characters and line separators, line breaks
// and NUL among them, becomes one space, or nothing at either end; broken UTF-8 becomes U+FFFD. All else stays.
func clean(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}), " ")
}

// headerText returns the value of an unstructured header that a reader decodes to clean(text), to the letter.
func headerText(text string) string {
	text = clean(text)
	if isPlain(text) {
		return text
	}
	return strings.Join(encodedWords(text), " ") // go-mail folds lines at the spaces
}

// mailbox returns the value of an address header that a reader decodes to clean(a.Name) and a.Email. It folds
// long ones itself: go-mail would fold between quotes, and leave a long word in one line.
func mailbox(a Address) string {
	name := clean(a.Name)
	if name == "" {
		return "<" + a.Email + ">"
	}
	if isPlain(name) && len(name) <= maxPlainName {
		return (&netmail.Address{Name: name, Address: a.Email}).String() // quotes what needs it
	}
	return strings.Join(append(encodedWords(name), "<"+a.Email+">"), "\r\n ")
}

// isPlain reports whether text survives the journey without being encoded: printable ASCII whose words are
// short and stand one space apart, and nothing that a reader would take for an encoded word.
func isPlain(text string) bool {
	if text == "" {
		return true
	}
	for word := range strings.SplitSeq(text, " ") {
		if word == "" || len(word) > maxPlainWord || strings.Contains(word, "=?") ||
			strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return false
		}
	}
	return true
}

// encodedWords writes text as encoded words of RFC 2047, none of which cuts a character in two.
func encodedWords(text string) []string {
	var words []string
	for text != "" {
		end := min(encodedChunk, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(text[:end]))+"?=")
		text = text[end:]
	}
	return words
}
