package scoring

import (
	"context"
	"math"

	"github.com/google/uuid"
)

// Proposal is what a scorer may know about a session. Speaker is here to be taken out of the text, not to be judged.
type Proposal struct {
	SessionID uuid.UUID
	Title     string
	Abstract  string
	Speaker   string
}

// Criteria are the six opinions about a proposal, each from 1 (poor) to 10 (excellent).
type Criteria struct {
	Relevance    int `json:"relevance"`    // does it matter to those who come?
	Depth        int `json:"depth"`        // does it go beyond what everybody knows?
	Practicality int `json:"practicality"` // is there something to take home and use?
	Originality  int `json:"originality"`  // has it not been told many times?
	Clarity      int `json:"clarity"`      // does one know from the abstract what to expect?
	Feasibility  int `json:"feasibility"`  // does it fit into the time of a session?
}

// Bounds of a criterion, of the overall score, and of the penalty.
const (
	Lowest, Highest = 1, 10
	MaxPenalty      = 3
	MaxReasoning    = 2000 // characters
)

// criteria is the one table of them: how much each weighs, in hundredths, which sum to one hundred.
var criteria = []struct {
	name   string
	weight int
	of     func(Criteria) int
}{
	{"relevance", 25, func(c Criteria) int { return c.Relevance }},
	{"depth", 20, func(c Criteria) int { return c.Depth }},
	{"practicality", 20, func(c Criteria) int { return c.Practicality }},
	{"originality", 15, func(c Criteria) int { return c.Originality }},
	{"clarity", 10, func(c Criteria) int { return c.Clarity }},
	{"feasibility", 10, func(c Criteria) int { return c.Feasibility }},
}

// Score is one opinion, and where it came from.
type Score struct {
	Criteria  Criteria
	Penalty   float64 // for advertising and for text that tries to steer its judge; 0 to MaxPenalty
	Reasoning string  // at most MaxReasoning characters; a stranger's text
	Model     string  // as Scorer.Model
	Prompt    PromptInfo

	InputTokens, OutputTokens int64 // what the call used, and is billed for
}

// Overall is the weighted mean of the criteria less the penalty, within 1.0 and 10.0, with one decimal. It is
// computed in hundredths, so that a tie is rounded up on every machine.
func (s Score) Overall() float64 {
	hundredths := -int(math.Round(s.Penalty * 100))
	for _, c := range criteria {
		hundredths += c.weight * c.of(s.Criteria)
	}
	hundredths = min(max(hundredths, Lowest*100), Highest*100)
	return float64((hundredths+5)/10) / 10
}

// Scorer gives opinions on proposals. Its methods may be called by any number of goroutines.
type Scorer interface {
	// Score judges one proposal. It fails with a fault of the table in the package's documentation, or with an
	// error that wraps ctx's when ctx ends first, and then at once. It never asks twice.
	Score(ctx context.Context, p Proposal) (Score, error)
	// Model names who judges.
	Model() string
	// Prompt says what the judge is told.
	Prompt() PromptInfo
}
