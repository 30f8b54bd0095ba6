package scoring

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// offlineVersion rises with every change of what the offline scorer answers.
const offlineVersion = 1

type offline struct{}

// Offline returns the scorer that asks nobody. The same text has the same score; who wrote it does not matter. It
// looks at length and structure alone, and its reasoning says so. It fails only when ctx has ended.
func Offline() Scorer { return offline{} }

func (offline) Model() string { return "offline" }

func (offline) Prompt() PromptInfo { return PromptInfo{Name: "offline", Version: offlineVersion} }

func (o offline) Score(ctx context.Context, p Proposal) (Score, error) {
	if err := ctx.Err(); err != nil {
		return Score{}, fmt.Errorf("score session %s: %w", p.SessionID, err)
	}
	s := shapeOf(p)
	// Relevance and originality cannot be counted: everybody gets the middle.
	return Score{
		Criteria: Criteria{
			Relevance:    5,
			Originality:  5,
			Depth:        nearness(s.words, 120, 260, 25),
			Practicality: clamp(4 + 2*s.items),
			Clarity:      nearness(s.words/max(s.sentences, 1), 8, 22, 4),
			Feasibility:  nearness(s.words, 40, 220, 30),
		},
		Penalty: min(float64(s.shouts)*0.5, MaxPenalty),
		Reasoning: fmt.Sprintf("No model was asked. This score looks only at the length and structure of the text (%d words, "+
			"%d sentences, %d list items, %d exclamation marks), and says nothing about the quality of the session. "+
			"Relevance and originality are set to 5 for everybody.", s.words, s.sentences, s.items, s.shouts),
		Model:  o.Model(),
		Prompt: o.Prompt(),
	}, nil
}

type shape struct{ words, sentences, items, shouts int }

func shapeOf(p Proposal) shape {
	s := shape{words: len(strings.Fields(p.Abstract)), shouts: strings.Count(p.Title+p.Abstract, "!")}
	for line := range strings.Lines(p.Abstract) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") {
			s.items++
		}
	}
	inside := false
	for _, r := range p.Abstract {
		switch {
		case strings.ContainsRune(".!?", r):
			if inside {
				s.sentences++
			}
			inside = false
		case unicode.IsLetter(r):
			inside = true
		}
	}
	if inside {
		s.sentences++
	}
	return s
}

// nearness is 9 between low and high, and one less for each step away from there.
func nearness(n, low, high, step int) int {
	return clamp(9 - (max(low-n, n-high, 0)+step-1)/step)
}

func clamp(n int) int { return min(max(n, Lowest), Highest) }
