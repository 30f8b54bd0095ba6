package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/later/schedule"
)

// The oracle knows the rule and nothing else: it looks at the wall clock at every minute of real time, one by one,
// and asks at each reading whether the sets that the expression was made of contain it.

// oracleValues has true for each value of a field.
type oracleValues [60]bool

func (v oracleValues) allHours() bool {
	for hour := range 24 {
		if !v[hour] {
			return false
		}
	}
	return true
}

// oracleSets are the values of the five fields, chosen before the expression was written down.
type oracleSets struct {
	text                                   string
	minutes, hours, days, months, weekdays oracleValues
	anyDay, anyWeekday                     bool
}

func (s *oracleSets) contain(reading time.Time) bool {
	if !s.minutes[reading.Minute()] || !s.hours[reading.Hour()] || !s.months[int(reading.Month())] {
		return false
	}
	date, weekday := s.days[reading.Day()], s.weekdays[int(reading.Weekday())]
	if s.anyDay || s.anyWeekday {
		return date && weekday
	}
	return date || weekday
}

// due lists the instants of [from, to) at which the sets are due. The walk begins hours before, to know what the
// wall clock has shown already.
func (s *oracleSets) due(walk []oracleMinute, from, to time.Time) []time.Time {
	var due []time.Time
	var shown time.Time // the latest reading so far
	everyHour := s.hours.allHours()
	for _, m := range walk {
		hit := false
		switch {
		case everyHour:
			hit = s.contain(m.reading)
		case shown.IsZero():
			shown = m.reading
		default:
			for shown.Before(m.reading) {
				shown = shown.Add(time.Minute)
				hit = hit || s.contain(shown)
			}
		}
		if hit && !m.instant.Before(from) && m.instant.Before(to) {
			due = append(due, m.instant)
		}
	}
	return due
}

type oracleMinute struct {
	instant time.Time
	reading time.Time // what the wall clock shows, written as if it were UTC
}

func oracleWalk(zone *time.Location, from, to time.Time) []oracleMinute {
	var walk []oracleMinute
	for t := from; t.Before(to); t = t.Add(time.Minute) {
		l := t.In(zone)
		walk = append(walk, oracleMinute{t, time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)})
	}
	return walk
}

// oracleField draws a field: its text, and the values that it means.
func oracleField(r *rand.Rand, low, high int, star int) (text string, values oracleValues, isStar bool) {
	add := func(from, to, step int) {
		for v := from; v <= to; v += step {
			values[v] = true
		}
	}
	if r.IntN(100) < star {
		add(low, high, 1)
		return "*", values, true
	}
	var items []string
	for range 1 + r.IntN(2) {
		from := low + r.IntN(high-low+1)
		to := from + r.IntN(high-from+1)
		step := 1 + r.IntN(min(15, to-from+1))
		switch r.IntN(6) {
		case 0:
			step = 2 + r.IntN(high-low)
			items = append(items, fmt.Sprintf("*/%d", step))
			add(low, high, step)
		case 1:
			items = append(items, fmt.Sprintf("%d-%d/%d", from, to, step))
			add(from, to, step)
		case 2:
			items = append(items, fmt.Sprintf("%d-%d", from, to))
			add(from, to, 1)
		default:
			items = append(items, fmt.Sprint(from))
			add(from, from, 1)
		}
	}
	return strings.Join(items, ","), values, false
}

func oracleExpression(r *rand.Rand) *oracleSets {
	s := &oracleSets{}
	var minutes, hours, days, months, weekdays string
	minutes, s.minutes, _ = oracleField(r, 0, 59, 10)
	hours, s.hours, _ = oracleField(r, 0, 23, 25)
	if r.IntN(2) == 0 { // the hours in which clocks are changed
		h := r.IntN(4)
		hours, s.hours = fmt.Sprint(h), oracleOne(h)
	}
	days, s.days, s.anyDay = oracleField(r, 1, 31, 60)
	months, s.months, _ = oracleField(r, 1, 12, 80)
	weekdays, s.weekdays, s.anyWeekday = oracleField(r, 0, 6, 60)
	s.text = strings.Join([]string{minutes, hours, days, months, weekdays}, " ")
	return s
}

func oracleOne(value int) (v oracleValues) {
	v[value] = true
	return v
}

// oracleChanges finds every change of the zone's offset between two years, to the minute.
func oracleChanges(zone *time.Location, firstYear, lastYear int) []time.Time {
	offset := func(t time.Time) int { _, o := t.In(zone).Zone(); return o }
	var changes []time.Time
	end := time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)
	for t := time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC); t.Before(end); t = t.Add(6 * time.Hour) {
		if offset(t) == offset(t.Add(6*time.Hour)) {
			continue
		}
		at := t
		for offset(at) == offset(t) {
			at = at.Add(time.Minute)
		}
		changes = append(changes, at)
	}
	return changes
}

func oracleCompare(t *testing.T, name string, r *rand.Rand, around time.Time, expressions int) {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	around = around.Truncate(time.Minute)
	from, to := around.Add(-4*time.Hour), around.Add(26*time.Hour)
	walk := oracleWalk(zone, from.Add(-4*time.Hour), to)
	for range expressions {
		sets := oracleExpression(r)
		c, err := schedule.ParseCalendar(sets.text, name)
		if err != nil {
			if sets.comes() {
				t.Fatalf("%q: %v", sets.text, err)
			}
			continue
		}
		due := sets.due(walk, from, to)
		// One after the other, from a few seconds into the minute before, so that the first minute counts.
		after := from.Add(-time.Duration(1+r.IntN(59)) * time.Second)
		for i := range len(due) + 1 {
			oracleNext(t, c, due[i:], after, to)
			if i < len(due) {
				after = due[i]
			}
		}
		// And from anywhere, as after a restart: the answer must not depend on having been there before.
		for range 6 {
			after = from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))))
			i := sort.Search(len(due), func(i int) bool { return due[i].After(after) })
			oracleNext(t, c, due[i:], after, to)
		}
	}
}

// oracleNext wants the first of due, or nothing before the end of the window.
func oracleNext(t *testing.T, c *schedule.Calendar, due []time.Time, after, end time.Time) {
	t.Helper()
	got, ok := c.Next(after)
	switch {
	case len(due) == 0 && ok && got.Before(end):
		t.Fatalf("%q in %s: Next(%s) = %s; want none before %s", c, c.Zone(), after.In(got.Location()), got, end)
	case len(due) > 0 && (!ok || !got.Equal(due[0])):
		t.Fatalf("%q in %s: Next(%s) = %s, %v; want %s", c, c.Zone(), after.In(got.Location()), got, ok, due[0].In(got.Location()))
	}
}

// comes reports whether any day of eight years matches, at any time of day.
func (s *oracleSets) comes() bool {
	for day := range 8 * 366 {
		d := time.Date(2096, 2, 1+day, 0, 0, 0, 0, time.UTC)
		date, weekday := s.days[d.Day()], s.weekdays[int(d.Weekday())]
		either := !s.anyDay && !s.anyWeekday
		if s.months[int(d.Month())] && (date && weekday || either && (date || weekday)) {
			return true
		}
	}
	return false
}

func TestNextAgreesWithMinuteByMinuteOracle(t *testing.T) {
	t.Parallel()
	zones := []string{
		"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo",
		"Asia/Beirut", "Africa/Cairo", "Antarctica/Troll", "Africa/Casablanca", "Asia/Tehran", "America/Caracas",
		"Asia/Pyongyang", "America/Nuuk", "Asia/Kathmandu", "Pacific/Kwajalein", "America/Havana", "Pacific/Chatham",
	}
	surprise := uint64(time.Now().UnixNano())
	for i, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			location := oracleMust(time.LoadLocation(zone))
			// Twenty years, and others that lie beyond the tables and are computed from the zone's rule.
			changes := append(oracleChanges(location, 2005, 2024), oracleChanges(location, 2095, 2096)...)
			oracleWindows(t, zone, changes, 1, rand.New(rand.NewPCG(20260308, uint64(i))))
			t.Run(fmt.Sprintf("seed=%d", surprise), func(t *testing.T) {
				oracleWindows(t, zone, changes, 4, rand.New(rand.NewPCG(surprise, uint64(i))))
			})
		})
	}
	t.Run("a whole day skipped in Kwajalein", func(t *testing.T) {
		t.Parallel()
		r := rand.New(rand.NewPCG(1993, 1))
		for _, change := range oracleChanges(oracleMust(time.LoadLocation("Pacific/Kwajalein")), 1993, 1993) {
			oracleCompare(t, "Pacific/Kwajalein", r, change, 60)
		}
	})
}

// oracleWindows compares around one in so many of the changes, and around random times.
func oracleWindows(t *testing.T, zone string, changes []time.Time, oneIn int, r *rand.Rand) {
	t.Helper()
	for _, change := range changes {
		if r.IntN(oneIn) == 0 {
			oracleCompare(t, zone, r, change, 3)
		}
	}
	for range 4 {
		oracleCompare(t, zone, r, time.Date(1973+r.IntN(140), 1, 1, 0, r.IntN(365*24*60), 0, 0, time.UTC), 3)
		oracleCompare(t, zone, r, time.Date(1976+4*r.IntN(30), 12, 31, r.IntN(24), 0, 0, 0, time.UTC), 2)
	}
}

func oracleMust[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
