package engagement_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"example.com/plenary/modules/engagement"
)

func TestResultsAreNoFormulas(t *testing.T) {
	t.Parallel()
	var p engagement.Poll
	p.Question = `=HYPERLINK("http://evil.test","click")`
	texts := []string{"Soup", `+1`, "-2+3", "@SUM(A1)", "\tx", "  =1", "a,b\"c\"\nd", "a=b", "＝1"}
	for _, text := range texts {
		p.Options = append(p.Options, engagement.Option{Text: text})
	}
	p.Options[0].Votes, p.Voters = 2, 3
	text, err := engagement.ResultsCSV(p)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) != len(texts)+1 {
		t.Fatalf("%q, %v", rows, err)
	}
	for i, row := range rows[1:] {
		want := texts[i]
		if i != 0 && i != 6 && i != 7 {
			want = "'" + want
		}
		if row[0] != "'"+p.Question || row[1] != want {
			t.Errorf("%q, want %q", row, want)
		}
	}
	if rows[1][2] != "2" || rows[1][3] != "66.7" {
		t.Errorf("%q", rows[1])
	}
}

func TestResultsAreForHosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := "/polls/" + r.open(false).ID.String() + "/results.csv"
	r.do("GET", path, ``).is(401)
	r.do("GET", path, ``, bearer(r.voterToken())...).is(403)
	r.do("GET", path, ``, bearer("alice")...).is(403)
	got := r.do("GET", path, ``, bearer("host")...).is(200)
	if !strings.HasPrefix(got.Header().Get("Content-Type"), "text/csv") || !strings.HasPrefix(got.Header().Get("Content-Disposition"), "attachment") ||
		!strings.HasPrefix(got.Body.String(), "question,option,votes,percent\nLunch?,Soup,0,0.0\n") {
		t.Errorf("%v %s", got.Header(), got.Body)
	}
}
