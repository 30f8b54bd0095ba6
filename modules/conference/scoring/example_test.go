package scoring_test

import (
	"context"
	"fmt"

	"example.com/plenary/modules/conference/scoring"
)

func ExampleOffline() {
	score, err := scoring.Offline().Score(context.Background(), scoring.Proposal{
		Title:    "What a lease is good for",
		Abstract: "Two workers, one row. We take the lease apart and break it on stage.",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(score.Overall(), score.Model)
	fmt.Println(score.Reasoning)
	// Output:
	// 5.2 offline
	// No model was asked. This score looks only at the length and structure of the text (14 words, 2 sentences, 0 list items, 0 exclamation marks), and says nothing about the quality of the session. Relevance and originality are set to 5 for everybody.
}
