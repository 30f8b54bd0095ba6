package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"rsc.io/qr"

	"example.com/plenary/modules/engagement"
)

// pollCard is a poll as a face of its room shows it. What is said here in words, room.js says in the same ones.
type pollCard struct {
	engagement.PollView
	Code  string
	Face  string
	Hosts bool
	Key   func() string
}

// Chosen reports whether an option is on the ballot of who looks.
func (p pollCard) Chosen(option uuid.UUID) bool {
	return p.MyBallot != nil && slices.Contains(*p.MyBallot, option)
}

// Share is how many of a hundred ballots name an option.
func (p pollCard) Share(votes int) int {
	if p.TotalVotes == 0 {
		return 0
	}
	return int(math.Round(100 * float64(votes) / float64(p.TotalVotes)))
}

// Total is how many have voted.
func (p pollCard) Total() string { return count(p.TotalVotes, "vote", "votes") }

// Mine says how who looks has voted.
func (p pollCard) Mine() string {
	var chosen []string
	for _, o := range p.Options {
		if p.Chosen(o.ID) {
			chosen = append(chosen, o.Text)
		}
	}
	if len(chosen) == 0 {
		return "You have not voted."
	}
	return "Your vote: " + strings.Join(chosen, ", ")
}

// Badge is where the poll stands.
func (p pollCard) Badge() badge {
	switch p.Status {
	case engagement.PollOpen:
		return badge{"busy", "Open"}
	case engagement.PollClosed:
		return badge{"calm", "Closed"}
	default:
		return badge{"wait", "Draft"}
	}
}

// questionCard is a question as a face of its room shows it.
type questionCard struct {
	engagement.QuestionView
	Code      string
	Face      string
	Moderates bool
	Key       func() string
}

// Badge is where the question stands.
func (q questionCard) Badge() badge {
	switch q.Status {
	case engagement.QuestionPending:
		return badge{"wait", "Pending"}
	case engagement.QuestionAnswered:
		return badge{"good", "Answered"}
	case engagement.QuestionDismissed:
		return badge{"calm", "Dismissed"}
	default:
		return badge{"busy", "Approved"}
	}
}

// Votes says how many want it answered.
func (q questionCard) Votes() string { return count(q.Upvotes, "upvote", "upvotes") }

// What each face shows, and in which order: what is to be dealt with first.
var (
	pollOrder = map[string][]engagement.PollStatus{
		faceAudience: {engagement.PollOpen, engagement.PollClosed},
		faceWall:     {engagement.PollOpen, engagement.PollClosed},
		faceHost:     {engagement.PollOpen, engagement.PollDraft, engagement.PollClosed},
	}
	questionOrder = map[string][]engagement.QuestionStatus{
		faceAudience: {engagement.QuestionApproved, engagement.QuestionAnswered},
		faceWall:     {engagement.QuestionApproved},
		faceHost:     {engagement.QuestionPending, engagement.QuestionApproved, engagement.QuestionAnswered, engagement.QuestionDismissed},
	}
)

// arrange makes cards of a room's polls and questions, in the order of the face. Ids rise with time.
func (d *roomData) arrange(view engagement.RoomView) {
	polls, questions := pollOrder[d.Face], questionOrder[d.Face]
	for _, p := range view.Polls {
		if slices.Contains(polls, p.Status) {
			d.Polls = append(d.Polls, d.pollCard(p))
		}
	}
	slices.SortFunc(d.Polls, func(a, b pollCard) int {
		return cmp.Or(cmp.Compare(slices.Index(polls, a.Status), slices.Index(polls, b.Status)), strings.Compare(b.ID.String(), a.ID.String()))
	})
	if d.Face == faceWall && len(d.Polls) > 0 { // what is open, or else the last result
		last := d.Polls[0].ID
		d.Polls = slices.DeleteFunc(d.Polls, func(p pollCard) bool { return p.ID != last && p.Status != engagement.PollOpen })
	}
	for _, q := range view.Questions {
		if slices.Contains(questions, q.Status) {
			d.Questions = append(d.Questions, d.questionCard(q))
		}
	}
	slices.SortFunc(d.Questions, func(a, b questionCard) int {
		return cmp.Or(cmp.Compare(slices.Index(questions, a.Status), slices.Index(questions, b.Status)),
			cmp.Compare(b.Upvotes, a.Upvotes), strings.Compare(a.ID.String(), b.ID.String()))
	})
	d.BlankPoll = d.pollCard(engagement.PollView{Options: []engagement.OptionView{{ID: uuid.Max}}})
	d.BlankQuestion = d.questionCard(engagement.QuestionView{})
}

func (d *roomData) pollCard(p engagement.PollView) pollCard {
	return pollCard{PollView: p, Code: d.Code, Face: d.Face, Hosts: d.Hosts, Key: newKey}
}

func (d *roomData) questionCard(q engagement.QuestionView) questionCard {
	return questionCard{QuestionView: q, Code: d.Code, Face: d.Face, Moderates: d.Moderates, Key: newKey}
}

// qrCode is drawn as one path of squares, in a square of Size.
type qrCode struct {
	Size int
	Path string
}

// quiet is the margin that readers need, in squares.
const quiet = 4

func newQR(text string) (qrCode, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return qrCode{}, fmt.Errorf("draw the address of a room: %w", err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	return qrCode{code.Size + 2*quiet, path.String()}, nil
}
