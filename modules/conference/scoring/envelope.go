package scoring

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"example.com/plenary/platform/fault"
)

// MaxProposal is how many bytes of title and abstract together are sent at most. It is a budget of tokens, too: a
// token is at least one byte.
const MaxProposal = 24 << 10

var (
	mailAddress = regexp.MustCompile(`[\pL\pN._%+'-]+@[\pL\pN-]+(\.[\pL\pN-]+)+`)
	phoneNumber = regexp.MustCompile(`\+\d[\d ()/.-]{6,18}\d`)
)

// envelope puts a proposal into the one element that the prompt announces. encoding/json writes <, > and & as
// escapes, and line breaks too, so no text can close the element or begin a line outside of it.
//
// It fails with an Invalid fault "scoring.too_long"; cutting would judge something that nobody proposed.
func envelope(p Proposal) (string, error) {
	if len(p.Title)+len(p.Abstract) > MaxProposal {
		return "", fault.New(fault.Invalid, "scoring.too_long", "the proposal is too long to be scored")
	}
	content, err := json.Marshal(struct {
		Title    string `json:"title"`
		Abstract string `json:"abstract"`
	}{anonymous(p.Title, p.Speaker), anonymous(p.Abstract, p.Speaker)})
	if err != nil {
		return "", err
	}
	return "<proposal>\n" + string(content) + "\n</proposal>", nil
}

// anonymous takes out what an opinion does not need. Invisible characters go first: they would hide an address
// from the patterns below, and instructions from the people who read the proposal.
func anonymous(text, speaker string) string {
	text = strings.Map(visible, text)
	text = mailAddress.ReplaceAllString(text, "[address]")
	text = phoneNumber.ReplaceAllString(text, "[number]")
	// A single word may be any word: a speaker named Go would empty half of the abstracts.
	if words := strings.Fields(strings.Map(visible, speaker)); len(words) > 1 {
		for i, word := range words {
			words[i] = regexp.QuoteMeta(word)
		}
		name := regexp.MustCompile(`(?i)` + strings.Join(words, `\s+`))
		text = name.ReplaceAllString(text, "[speaker]")
	}
	return text
}

// visible drops control and format characters, apart from line breaks, tabs, and the joiners that some scripts need.
func visible(r rune) rune {
	const nonJoiner, joiner = '\u200c', '\u200d'
	switch {
	case r == '\n' || r == '\t' || r == nonJoiner || r == joiner:
		return r
	case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r):
		return -1
	default:
		return r
	}
}
