package schedule_test

import "testing"

func TestWords(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"* * * * *":                "every minute",
		"*/15 * * * *":             "every 15 minutes",
		"0,30 * * * *":             "every 30 minutes",
		"0 * * * *":                "every hour",
		"20 * * * *":               "at minute 20 of every hour",
		"0 */6 * * *":              "every 6 hours",
		"*/15 * * * 1-5":           "every 15 minutes on weekdays",
		"*/15 9-17 * * MON-FRI":    "every 15 minutes from 09:00 to 17:45 on weekdays",
		"0 3 * * *":                "every day at 03:00",
		"0 3,15 * * *":             "every day at 03:00 and 15:00",
		"0 3 * 6,7 *":              "every day at 03:00 in June and July",
		"30 9 * * 1":               "Mondays at 09:30",
		"30 9 * * 1-5":             "weekdays at 09:30",
		"30 9 * * 0,6":             "Saturdays and Sundays at 09:30",
		"30 9 * * 7,3,1":           "Mondays, Wednesdays and Sundays at 09:30",
		"30 1 1 * *":               "at 01:30 on day 1 of the month",
		"30 1 1,15 * *":            "at 01:30 on days 1 and 15 of the month",
		"0 0 1 1,4,7,10 *":         "at 00:00 on day 1 of January, April, July and October",
		"0 0 24 12 *":              "at 00:00 on 24 December",
		"*/10 * 1 * *":             "every 10 minutes on day 1 of the month",
		"@weekly":                  "Sundays at 00:00",
		"@hourly":                  "every hour",
		"@every 1m":                "every minute",
		"@every 90m":               "every 90 minutes",
		"@every 24h":               "every 24 hours",
		"0 0 13 * 5":               "0 0 13 * 5",               // either: no short words
		"*/7 * * * *":              "*/7 * * * *",              // not even: four minutes at the end of the hour
		"0 1,4,9,12,20 * * *":      "0 1,4,9,12,20 * * *",      // too many times
		"0 0 1,3,5,7,9,11 * *":     "0 0 1,3,5,7,9,11 * *",     // too many days
		"0 0 1 1,2,3,4,5,6,7,8 *":  "0 0 1 1,2,3,4,5,6,7,8 *",  // too many months
		"*/15 1,4,9,12,20 * * 1-5": "*/15 1,4,9,12,20 * * 1-5", // hours with gaps
	} {
		if got := calendarOf(t, expression, "Europe/Berlin").Words(); got != want {
			t.Errorf("%q is %q, want %q", expression, got, want)
		}
	}
}
