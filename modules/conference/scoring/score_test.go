package scoring

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestWeightsSumToOneAndNameEveryCriterion(t *testing.T) {
	t.Parallel()
	sum, each := 0, Criteria{Relevance: 1, Depth: 2, Practicality: 3, Originality: 4, Clarity: 5, Feasibility: 6}
	seen := map[int]bool{}
	for _, c := range criteria {
		sum += c.weight
		seen[c.of(each)] = true
	}
	if sum != 100 || len(seen) != 6 {
		t.Errorf("weights sum to %d hundredths, %d of 6 criteria are read", sum, len(seen))
	}
}

func TestOverall(t *testing.T) {
	t.Parallel()
	all := func(n int) Criteria { return Criteria{n, n, n, n, n, n} }
	cases := map[string]struct {
		criteria Criteria
		penalty  float64
		want     float64
	}{
		"all the same":            {all(7), 0, 7},
		"penalty":                 {all(7), 1.5, 5.5},
		"not below one":           {all(2), 3, 1},
		"nor above ten":           {all(10), -3, 10},
		"nothing at all":          {Criteria{}, 0, 1},
		"weighted":                {Criteria{8, 7, 9, 6, 7, 8}, 0.5, 7.1}, // 2+1.4+1.8+0.9+0.7+0.8-0.5
		"relevance weighs most":   {Criteria{10, 5, 5, 5, 5, 5}, 0, 6.3},  // 6.25, a tie: up
		"feasibility weighs less": {Criteria{5, 5, 5, 5, 5, 10}, 0, 5.5},
		"down":                    {Criteria{6, 5, 5, 5, 5, 5}, 0.01, 5.2}, // 5.24
	}
	for name, c := range cases {
		if got := (Score{Criteria: c.criteria, Penalty: c.penalty}).Overall(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestOfflineIsDeterministicAndHonest(t *testing.T) {
	t.Parallel()
	p := proposal()
	first, err := Offline().Score(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	p.SessionID, p.Speaker = uuid.New(), "Somebody Else"
	again, err := Offline().Score(t.Context(), p)
	if err != nil || again != first {
		t.Errorf("%v: %+v, before %+v", err, again, first)
	}
	if !strings.Contains(first.Reasoning, "No model was asked") || first.Model != "offline" || first.Prompt.Hash != "" {
		t.Errorf("it does not say what it is: %+v", first)
	}
	// What it answers for one text is fixed: change this together with offlineVersion.
	if first.Prompt.Version != 1 || first.Overall() != 6.4 {
		t.Errorf("version %d says %v", first.Prompt.Version, first.Overall())
	}
	p.Title, p.Abstract = "BEST TALK EVER!!!!!!!!", ""
	if empty, err := Offline().Score(t.Context(), p); err != nil || empty.Overall() >= first.Overall() || empty.Penalty != MaxPenalty {
		t.Errorf("%v: nothing but noise has %v", err, empty)
	}
}

func TestOfflineStaysInRange(t *testing.T) {
	t.Parallel()
	for _, abstract := range []string{"", "!", "- a\n", strings.Repeat("- word\n", 5000), strings.Repeat("Short. ", 3000), "\x00\xff"} {
		s, err := Offline().Score(t.Context(), Proposal{Abstract: abstract})
		a := answer{Criteria: s.Criteria, Penalty: s.Penalty, Reasoning: s.Reasoning}
		if err != nil || a.check() != nil || len(s.Reasoning) > MaxReasoning {
			t.Errorf("%.20q: %v, %+v", abstract, errors.Join(err, a.check()), s)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Offline().Score(ended, proposal()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func proposal() Proposal {
	return Proposal{
		SessionID: uuid.MustParse("0193b0a1-0000-7000-8000-000000000001"),
		Title:     "Moving two billion rows while people watch",
		Abstract: "We moved our ledger to another schema without a maintenance window. You will see:\n" +
			"- how triggers and a backfill share the work\n- what went wrong on the first night\n" +
			"Ada Lovelace shows the numbers. Questions to ada@example.com or +49 (30) 1234-5678.",
		Speaker: "Ada  Lovelace",
	}
}
