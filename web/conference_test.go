package web

import (
	"testing"
	"time"

	"example.com/plenary/modules/conference"
	"example.com/plenary/platform/ops"
)

func TestSessionsAndPassesHaveWords(t *testing.T) {
	t.Parallel()
	for _, status := range []conference.Status{conference.Proposed, conference.Selected, conference.Declined} {
		if b := sessionBadge(status); b.Word == string(status) || sessionSays(conference.Session{Status: status}) == "" {
			t.Errorf("%s: %v", status, b)
		}
	}
	for state, moves := range map[string]bool{"pending": true, "running": true, "failed": true, "succeeded": false, "dead_lettered": false} {
		p := passOf(ops.OperationView{State: state, Attempts: 2, Progress: &ops.OperationProgress{Done: 3, Total: 6}})
		if p.Badge.Word == state || p.Says == "" || p.Moves != moves || p.Version != state+"-2-3-6" {
			t.Errorf("%+v", p)
		}
	}
	if p := passOf(ops.OperationView{State: "new"}); p.Moves || p.Badge.Word != "new" || p.Version != "new-0" {
		t.Errorf("%+v", p)
	}
}

func TestAgendaDays(t *testing.T) {
	t.Parallel()
	at := func(text string) *time.Time {
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return &moment
	}
	event := func(from, to, zone string) agendaData {
		return agendaData{Event: conference.Event{StartsOn: *at(from), EndsOn: *at(to), TimeZone: zone}}
	}
	for name, c := range map[string]struct {
		agenda agendaData
		days   []string
	}{
		"by its own clocks":         {event("2027-05-20T23:30:00Z", "2027-05-21T12:00:00Z", "Europe/Vienna"), []string{"2027-05-21"}},
		"over a change of clocks":   {event("2027-03-27T08:00:00Z", "2027-03-29T08:00:00Z", "Europe/Vienna"), []string{"2027-03-27", "2027-03-28", "2027-03-29"}},
		"over the end of a year":    {event("2027-12-31T08:00:00Z", "2028-01-01T08:00:00Z", "UTC"), []string{"2027-12-31", "2028-01-01"}},
		"in a zone nobody knows":    {event("2027-05-20T23:30:00Z", "2027-05-20T23:40:00Z", "Mars/Olympus"), []string{"2027-05-20"}},
		"where midnight is missing": {event("2018-11-03T12:00:00Z", "2018-11-04T12:00:00Z", "America/Sao_Paulo"), []string{"2018-11-03", "2018-11-04"}},
	} {
		c.agenda.arrange(nil)
		for i, d := range c.agenda.Days {
			if len(c.agenda.Days) != len(c.days) || d.Key != c.days[i] {
				t.Fatalf("%s: %+v, want %v", name, c.agenda.Days, c.days)
			}
		}
		if len(c.agenda.Days) == 0 {
			t.Errorf("%s: no days", name)
		}
	}

	d := event("2000-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "UTC")
	d.arrange([]conference.Session{
		{Title: "b", Status: conference.Selected, StartsOn: at("2000-01-02T09:00:00Z")},
		{Title: "a", Status: conference.Selected, StartsOn: at("2000-01-02T09:00:00Z")},
		{Title: "0", Status: conference.Selected, StartsOn: at("2000-01-02T10:00:00Z")},
		{Title: "before", Status: conference.Selected, StartsOn: at("1999-12-31T10:00:00Z")},
	})
	if len(d.Days) != mostDays+1 || d.Days[0].Sessions[0].Title != "before" {
		t.Fatalf("%d days, the first %+v", len(d.Days), d.Days[0])
	}
	if s := d.Days[2].Sessions; s[0].Title != "a" || s[1].Title != "b" || s[2].Title != "0" {
		t.Errorf("%+v", s)
	}
}
