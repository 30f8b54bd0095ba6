package scoring

import (
	"errors"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/strictjson"
)

// answer is what the model writes. There is no place for an overall score.
type answer struct {
	Criteria
	Penalty   float64 `json:"penalty"`
	Reasoning string  `json:"reasoning"`
}

// answerSchema is what the service holds the model to. It knows neither bounds of numbers nor lengths of strings,
// hence the lists of values; what it promises is checked again by parse.
func answerSchema() map[string]any {
	marks := make([]int, 0, Highest)
	for n := Lowest; n <= Highest; n++ {
		marks = append(marks, n)
	}
	penalties := make([]float64, 0, 2*MaxPenalty+1)
	for n := range 2*MaxPenalty + 1 {
		penalties = append(penalties, float64(n)/2)
	}
	properties := map[string]any{
		"reasoning": map[string]any{"type": "string"},
		"penalty":   map[string]any{"type": "number", "enum": penalties},
	}
	required := []string{"reasoning"}
	for _, c := range criteria {
		properties[c.name] = map[string]any{"type": "integer", "enum": marks}
		required = append(required, c.name)
	}
	return map[string]any{
		"type": "object", "properties": properties, "required": append(required, "penalty"), "additionalProperties": false,
	}
}

// parse reads the model's message. Refusals and whatever is not a whole, valid answer are faults.
func parse(m *anthropic.Message) (answer, error) {
	switch m.StopReason {
	case anthropic.StopReasonEndTurn:
	case anthropic.StopReasonRefusal:
		return answer{}, fault.New(fault.Invalid, "scoring.refused", "the model declined to judge this proposal")
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return answer{}, unparseable(errors.New("it was cut off at the limit of tokens"))
	default:
		return answer{}, unparseable(errors.New("it stopped for a reason that is not expected"))
	}
	var texts []string
	for _, block := range m.Content {
		if text, ok := block.AsAny().(anthropic.TextBlock); ok {
			texts = append(texts, text.Text)
		}
	}
	if len(texts) != 1 {
		return answer{}, unparseable(fmt.Errorf("it has %d texts", len(texts)))
	}
	var a answer
	if err := strictjson.Decode([]byte(texts[0]), &a, strictjson.RequireMembers()); err != nil {
		return answer{}, unparseable(complaint(err))
	}
	if err := a.check(); err != nil {
		return answer{}, unparseable(complaint(err))
	}
	a.Reasoning = shorten(strings.TrimSpace(strings.Map(visible, a.Reasoning)))
	return a, nil
}

func (a answer) check() error {
	var v fault.Violations
	for _, c := range criteria {
		mark := c.of(a.Criteria)
		v.Check(mark >= Lowest && mark <= Highest, c.name, "out_of_range", "must be 1 to 10")
	}
	v.Check(a.Penalty >= 0 && a.Penalty <= MaxPenalty, "penalty", "out_of_range", "must be 0 to 3")
	v.Check(strings.TrimSpace(a.Reasoning) != "", "reasoning", "required", "is missing")
	return v.Err()
}

// shorten cuts a text that is too long. That is no reason to pay again: the marks do not depend on it.
func shorten(text string) string {
	if runes := []rune(text); len(runes) > MaxReasoning {
		return string(runes[:MaxReasoning-1]) + "…"
	}
	return text
}

func unparseable(why error) error {
	return fault.Wrap(why, fault.Unavailable, "scoring.unparseable", "the model's answer cannot be used")
}

// complaint says what is wrong where, without a word of the answer.
func complaint(err error) error {
	if f := fault.As(err); f != nil && len(f.Fields) > 0 {
		return fmt.Errorf("%q: %s", f.Fields[0].Path, f.Fields[0].Code)
	}
	return errors.New("it is not valid")
}
