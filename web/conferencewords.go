package web

import (
	"fmt"
	"strconv"

	"example.com/plenary/modules/conference"
)

func sessionBadge(status conference.Status) badge {
	switch status {
	case conference.Proposed:
		return badge{"wait", "Proposed"}
	case conference.Selected:
		return badge{"good", "Selected"}
	case conference.Declined:
		return badge{"calm", "Declined"}
	default:
		return badge{"calm", string(status)}
	}
}

// sessionSays tells where a session stands.
func sessionSays(s conference.Session) string {
	switch {
	case s.Status == conference.Proposed:
		return "The organizers have not decided yet."
	case s.Status == conference.Declined:
		return "The organizers have decided against it, this time."
	case s.StartsOn == nil:
		return "It will be held. When is not decided yet."
	default:
		return "It will be held."
	}
}

// passWords says how a pass stands, and whether there is more to come.
func passWords(state string) (b badge, says string, moves bool) {
	switch state {
	case "pending":
		return badge{"wait", "Waiting"}, "It begins in a moment. If another pass over these sessions is under way, it begins after that one.", true
	case "running":
		return badge{"busy", "Scoring"}, "The sessions are read one by one. Each score is kept as soon as it is there.", true
	case "failed":
		return badge{"wait", "Trying again"}, "The last attempt did not get through. What it has scored is kept, and the rest is tried again by itself; nobody needs to press anything.", true
	case "succeeded":
		return badge{"good", "Done"}, "The pass is over. The ranking below is what came of it.", false
	case "dead_lettered":
		return badge{"bad", "Given up"}, "It was tried until there was no sense in it. What was scored is kept. Find out why before you try again.", false
	default:
		return badge{"calm", state}, "", false
	}
}

// offline is the model of a score for which no model was asked.
const offline = "offline"

// scoredBy says whose opinion a score is.
func scoredBy(score conference.ScoreView) string {
	if score.Model == offline {
		return fmt.Sprintf("offline: no model was asked (version %d)", score.PromptVersion)
	}
	return fmt.Sprintf("%s, prompt version %d", score.Model, score.PromptVersion)
}

func penaltyWords(penalty float64) string {
	if penalty == 0 {
		return ""
	}
	return "−" + strconv.FormatFloat(penalty, 'f', -1, 64)
}
