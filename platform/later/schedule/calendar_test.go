package schedule_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/schedule"
)

const calendarLayout = "2006-01-02 15:04 -0700"

func calendarOf(t testing.TB, expression, zone string) *schedule.Calendar {
	t.Helper()
	c, err := schedule.ParseCalendar(expression, zone)
	if err != nil {
		t.Fatalf("%q in %q: %v", expression, zone, err)
	}
	return c
}

func TestNextOnTheNightsWhenClocksAreChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, expression, zone, after string
		want                          []string
	}{
		{
			"skipped time runs at the shift", "30 2 * * *", "America/New_York", "2026-03-07 12:00 -0500",
			[]string{"2026-03-08 03:00 -0400", "2026-03-09 02:30 -0400"},
		},
		{
			"repeated time runs once", "30 1 * * *", "America/New_York", "2026-10-31 12:00 -0400",
			[]string{"2026-11-01 01:30 -0400", "2026-11-02 01:30 -0500"},
		},
		{
			"half hours keep their distance in spring", "*/30 * * * *", "America/New_York", "2026-03-08 01:00 -0500",
			[]string{"2026-03-08 01:30 -0500", "2026-03-08 03:00 -0400", "2026-03-08 03:30 -0400"},
		},
		{
			"half hours keep their distance in autumn", "*/30 * * * *", "America/New_York", "2026-11-01 01:00 -0400",
			[]string{"2026-11-01 01:30 -0400", "2026-11-01 01:00 -0500", "2026-11-01 01:30 -0500", "2026-11-01 02:00 -0500"},
		},
		{
			"hours keep their distance in spring", "0 * * * *", "America/New_York", "2026-03-08 00:30 -0500",
			[]string{"2026-03-08 01:00 -0500", "2026-03-08 03:00 -0400", "2026-03-08 04:00 -0400"},
		},
		{
			"hours keep their distance in autumn", "0 * * * *", "America/New_York", "2026-11-01 00:30 -0400",
			[]string{"2026-11-01 01:00 -0400", "2026-11-01 01:00 -0500", "2026-11-01 02:00 -0500"},
		},
		{
			"many skipped minutes are one run", "*/10 2 * * *", "Europe/Berlin", "2026-03-28 12:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200"},
		},
		{
			"the run at the shift is also the one of that minute", "0 2,3 * * *", "Europe/Berlin", "2026-03-28 12:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200"},
		},
		{
			"repeated time in Berlin", "30 2 * * *", "Europe/Berlin", "2026-10-24 12:00 +0200",
			[]string{"2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"},
		},
		{
			"asked within the repeated hour", "30 2 * * *", "Europe/Berlin", "2026-10-25 02:10 +0100",
			[]string{"2026-10-26 02:30 +0100"},
		},
		{
			"half an hour skipped", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00 +1030",
			[]string{"2026-10-04 02:30 +1100", "2026-10-05 02:15 +1100"},
		},
		{
			"half an hour repeated", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04 12:00 +1100",
			[]string{"2026-04-05 01:45 +1100", "2026-04-06 01:45 +1030"},
		},
		{
			"a day that never was", "0 12 * * *", "Pacific/Apia", "2011-12-29 11:00 -1000",
			[]string{"2011-12-29 12:00 -1000", "2011-12-31 00:00 +1400", "2011-12-31 12:00 +1400"},
		},
		{
			"a date that never was", "0 12 30 12 *", "Pacific/Apia", "2011-12-01 00:00 -1000",
			[]string{"2011-12-31 00:00 +1400", "2012-12-30 12:00 +1400"},
		},
		{
			"hourly on a date that never was", "0 * 30 12 *", "Pacific/Apia", "2011-12-01 00:00 -1000",
			[]string{"2012-12-30 00:00 +1400"},
		},
		{
			"a day that begins at one", "0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00 -0300",
			[]string{"2018-11-04 01:00 -0200", "2018-11-05 00:00 -0200"},
		},
		{
			"a day that begins at one, in Beirut", "30 0 * * *", "Asia/Beirut", "2026-03-28 12:00 +0200",
			[]string{"2026-03-29 01:00 +0300", "2026-03-30 00:30 +0300"},
		},
		{
			"clocks put back over midnight", "30 23 * * *", "America/Sao_Paulo", "2018-02-17 12:00 -0200",
			[]string{"2018-02-17 23:30 -0200", "2018-02-18 23:30 -0300"},
		},
		{
			"two hours skipped", "30 1,2 * * *", "Antarctica/Troll", "2026-03-28 12:00 +0000",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 01:30 +0200"},
		},
		{
			"an offset with seconds: the minute of the shift is skipped", "44 * * * *", "Africa/Monrovia", "1972-01-07 00:30 +0000",
			[]string{"1972-01-07 01:44 +0000"},
		},
		{
			"an offset with seconds: made up for at the shift", "44 0 * * *", "Africa/Monrovia", "1972-01-07 00:30 +0000",
			[]string{"1972-01-07 00:44 +0000", "1972-01-08 00:44 +0000"},
		},
		{
			"the last day of a leap year beyond the tables", "0 12 * * *", "America/New_York", "2096-12-30 13:00 -0500",
			[]string{"2096-12-31 12:00 -0500", "2097-01-01 12:00 -0500"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			after, err := time.Parse(calendarLayout, tt.after)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, next := range calendarOf(t, tt.expression, tt.zone).NextN(after, len(tt.want)) {
				got = append(got, next.Format(calendarLayout))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("due at %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEachExpressionMeansWhatItSays(t *testing.T) {
	t.Parallel()
	const friday = "2026-01-02 10:07" // 2026-01-02 is a Friday
	for expression, want := range map[string]string{
		"0 0 * * 7":           "2026-01-04 00:00",
		"0 0 * * SUN":         "2026-01-04 00:00",
		"0 0 * * 6-7":         "2026-01-03 00:00 2026-01-04 00:00 2026-01-10 00:00",
		"0 0 * * SAT-SUN":     "2026-01-03 00:00 2026-01-04 00:00 2026-01-10 00:00",
		"0 0 * * 1-7/3":       "2026-01-04 00:00 2026-01-05 00:00 2026-01-08 00:00",
		"0 0 * * 2,7":         "2026-01-04 00:00 2026-01-06 00:00",
		"0 0 * * 0-7":         "2026-01-03 00:00 2026-01-04 00:00",
		"0 0 13 * 5":          "2026-01-09 00:00 2026-01-13 00:00", // either
		"0 0 13 * *":          "2026-01-13 00:00 2026-02-13 00:00",
		"0 0 ? * mon":         "2026-01-05 00:00",
		"5/20 10 * * *":       "2026-01-02 10:25 2026-01-02 10:45 2026-01-03 10:05",
		"  0   0 1 JAN,jul *": "2026-07-01 00:00 2027-01-01 00:00",
		"0 0 29 2 *":          "2028-02-29 00:00 2032-02-29 00:00",
		"0 */24 * * *":        "2026-01-03 00:00",
		"@hourly":             "2026-01-02 11:00",
		"@daily":              "2026-01-03 00:00",
		"@weekly":             "2026-01-04 00:00",
		"@monthly":            "2026-02-01 00:00",
		"@yearly":             "2027-01-01 00:00",
	} {
		after := oracleMust(time.Parse("2006-01-02 15:04", friday))
		var got []string
		for _, next := range calendarOf(t, expression, "").NextN(after, (len(want)+1)/len("2006-01-02 15:04 ")) {
			got = append(got, next.Format("2006-01-02 15:04"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", expression, got, want)
		}
	}
}

func TestLeapDaysEightYearsApart(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Europe/Berlin"} {
		next, ok := calendarOf(t, "0 3 29 2 *", zone).Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC))
		if !ok || next.Format(time.DateOnly) != "2104-02-29" {
			t.Errorf("%s: %s, %v", zone, next, ok)
		}
	}
}

func TestNextIsStrictlyLaterAndEndsWithTheYears(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{"* * * * *", "30 2 * * *", "0 0 29 2 *", "@every 7m"} {
		for _, zone := range []string{"UTC", "Africa/Monrovia", "Asia/Manila", "America/Juneau"} {
			c := calendarOf(t, expression, zone)
			for year := 1; year < 9990; year += 37 {
				after := time.Date(year, 5, 20, 10, 11, 12, 999, time.UTC)
				next, ok := c.Next(after)
				if !ok || !next.After(after) {
					t.Fatalf("%q in %s after %s: %s, %v", expression, zone, after, next, ok)
				}
			}
			for _, after := range []time.Time{
				time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Unix(math.MaxInt64, 0), time.Unix(1<<60, 0),
			} {
				if next, ok := c.Next(after); ok && !next.After(after) || !ok && !next.IsZero() {
					t.Errorf("%q in %s after %s: %s, %v", expression, zone, after, next, ok)
				}
			}
		}
	}
	first := calendarOf(t, "* * * * *", "")
	if next, ok := first.Next(time.Time{}.Add(-time.Hour)); !ok || !next.Equal(time.Time{}) {
		t.Errorf("before the first year: %s, %v", next, ok)
	}
	if got := first.NextN(time.Date(9999, 12, 31, 23, 57, 0, 0, time.UTC), 10); len(got) != 2 {
		t.Errorf("at the end of the years there are two minutes left: %v", got)
	}
	var zero schedule.Calendar
	if next, ok := zero.Next(time.Now()); ok || !next.IsZero() || zero.Words() != "" {
		t.Errorf("the zero calendar is due at %s: %q", next, zero.Words())
	}
}

func TestEveryKeepsItsPhase(t *testing.T) {
	t.Parallel()
	c := calendarOf(t, "@every 10m", "Asia/Kathmandu")
	for _, started := range []string{"12:00:00", "12:04:59", "12:09:59"} { // a restart, at any moment
		after := oracleMust(time.Parse(time.DateTime, "2026-05-01 "+started))
		next, ok := c.Next(after)
		if want := time.Date(2026, 5, 1, 12, 10, 0, 0, time.UTC); !ok || !next.Equal(want) {
			t.Errorf("after %s: %s", after, next)
		}
	}
	week := calendarOf(t, "@every 168h", "")
	for _, after := range []time.Time{time.Unix(0, 0), time.Unix(604799, 999999999)} {
		if next, _ := week.Next(after); next.Unix() != 604800 {
			t.Errorf("after %s: %s", after, next)
		}
	}
	if next, _ := week.Next(time.Unix(-1, 500)); next.Unix() != 0 {
		t.Errorf("before the epoch: %s", next)
	}
}

func TestCalendarsCompareEqual(t *testing.T) {
	t.Parallel()
	a, b := calendarOf(t, " 0  3 * * *", "Europe/Berlin"), calendarOf(t, "0 3 * * * ", "Europe/Berlin")
	if *a != *b || a.String() != "0 3 * * *" || a.Zone() != "Europe/Berlin" {
		t.Errorf("%v and %v", a, b)
	}
	if c := calendarOf(t, "0 3 * * *", ""); c.Zone() != "UTC" || *c == *a {
		t.Errorf("zone %q", c.Zone())
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	refused := map[string][]string{ // a piece of the message → expressions
		"empty":                 {"", "   "},
		"plain ASCII":           {"0\t3 * * *", "0 3 * * *\n", "0 3 * * *\x00", "０ 3 * * *", "0\u00a03 * * *"},
		"at most 128":           {strings.Repeat("1,", 5000) + "1 * * * *"},
		"setting of its own":    {"TZ=UTC", "TZ=0", "CRON_TZ=", "TZ= * * * * *", "TZ=Local 0 3 * * *", "CRON_TZ=Asia/Tokyo 0 3 * * *", " tz=UTC 0 3 * * *"},
		"five fields":           {"0 0 3 * * *", "0 3 * *", "*"},
		"step of the minute":    {"*/90 * * * *", "*/61 * * * *", "*/0 * * * *", "50/11 * * * *", "10-20/12 * * * *"},
		"step of the hour":      {"0 */25 * * *"},
		"step of the day of we": {"0 0 * * */8", "0 0 * * 5-7/4", "0 0 * * 7/2"},
		"the minute is not":     {"60 * * * *", "-1 * * * *", "+5 * * * *", ", * * * *", "1,,2 * * * *", "a * * * *", "5-1 * * * *", "*-5 * * * *", "? * * * *", "*/5/5 * * * *", "99999999999999999999 * * * *", "*/99999999999999999999 * * * *", "1-2-3 * * * *"},
		"the day of month is":   {"0 0 0 * *", "0 0 32 * *", "0 0 L * *", "0 0 15W * *"},
		"the month is not":      {"0 0 1 13 *", "0 0 1 MON *"},
		"the day of week is":    {"0 0 * * 8", "0 0 * * 5-0", "0 0 * * 9-7", "0 0 * * JAN-7", "0 0 * * MON#2"},
		"the only words":        {"@reboot", "@", "@Daily", "@daily 5", "@everyday"},
		"whole minutes":         {"@every", "@every 0s", "@every -1m", "@every 30s", "@every 59s", "@every 90s", "@every 745h", "@every 1h 30m", "@every x", "@every 1m1ns", "@every 9999999h"},
		"never comes":           {"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30,31 FEB *"},
	}
	for piece, expressions := range refused {
		for _, expression := range expressions {
			c, err := schedule.ParseCalendar(expression, "UTC")
			f := fault.As(err)
			if c != nil || f == nil || f.Kind != fault.Invalid || f.Code != "cron_invalid" || !strings.Contains(f.Message, piece) {
				t.Errorf("%.40q: %v, want a refusal about %q", expression, err, piece)
			}
		}
	}
	for _, zone := range []string{
		"Local", "Europe/Nowhere", "../etc/passwd", "/etc/localtime", "Europe/../UTC", "europe/berlin", "Europe", "localtime",
		"CET-1CEST", "UTC ", "Europe/Berlin\x00", "Europe\\Berlin", strings.Repeat("A", 10000), "right/UTC",
	} {
		c, err := schedule.ParseCalendar("0 3 * * *", zone)
		f := fault.As(err)
		if c != nil || f == nil || f.Kind != fault.Invalid || f.Code != "time_zone_invalid" || !strings.Contains(f.Message, "IANA") {
			t.Errorf("zone %.20q: %v", zone, err)
		}
	}
}

// FuzzParseCalendar: whatever people write is refused politely, or has a next time; both in bounded time.
func FuzzParseCalendar(f *testing.F) {
	for _, expression := range []string{
		"*/15 9-17 * * MON-FRI", "0 0 29 2 *", "0 0 30 2 *", "0 0 * * 5-7", "TZ=UTC", "@every 90m", "@every -1m",
		"@weekly", "5/20 * * * *", "? ? ? ? ?", "*/90 * * * *", "CRON_TZ= 0 * * * *", "0 0 1-31 * 1-7/2", "*,5 * ? * 7/1",
	} {
		for _, zone := range []string{"", "America/New_York", "Pacific/Apia", "Local"} {
			f.Add(expression, zone, int64(1772900000))
		}
	}
	f.Fuzz(func(t *testing.T, expression, zone string, at int64) {
		c, err := schedule.ParseCalendar(expression, zone)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Fatal(err)
			}
			return
		}
		after := time.Unix(at, 0)
		next, ok := c.Next(after)
		if ok && !next.After(after) || !ok && !next.IsZero() {
			t.Fatalf("%q in %q after %s: %s, %v", expression, zone, after, next, ok)
		}
		if year := after.UTC().Year(); !ok && year > 0 && year < 9900 {
			t.Fatalf("%q in %q is never due after %s", expression, zone, after)
		}
		if again, err := schedule.ParseCalendar(c.String(), c.Zone()); err != nil || *again != *c || c.Words() == "" {
			t.Fatalf("%q in %q does not read back: %v", c, c.Zone(), err)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, expression := range []string{"*/15 * * * *", "30 2 * * *", "0 0 29 2 *"} {
		c := calendarOf(b, expression, "Europe/Berlin")
		b.Run(fmt.Sprintf("%q", expression), func(b *testing.B) {
			after := time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)
			for b.Loop() {
				c.Next(after)
			}
		})
	}
}
