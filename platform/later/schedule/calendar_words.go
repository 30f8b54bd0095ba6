package schedule

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// wordsAtMost is how many values are still read out one by one.
const wordsAtMost = 4

// Words says in English when the calendar is due: "every day at 03:00", "every 15 minutes", "Mondays at 09:30".
// The zone is not part of it. A calendar that no short sentence describes is returned as its expression.
func (c *Calendar) Words() string {
	if c.location == nil {
		return c.expression
	}
	if c.every > 0 {
		if c.every%time.Hour == 0 {
			return everyWords(int(c.every/time.Hour), "hour")
		}
		return everyWords(int(c.every/time.Minute), "minute")
	}
	times, fixed := c.timeWords()
	if times == "" || c.eitherDay {
		return c.expression
	}
	allDays := bits.OnesCount64(c.days) == 31
	allWeek := bits.OnesCount64(c.weekdays) == 7
	months, ok := c.monthWords()
	switch {
	case !ok:
		return c.expression
	case allDays && allWeek && fixed:
		return "every day " + times + wordsPrefixed(" in ", months)
	case allDays && allWeek:
		return times + wordsPrefixed(" in ", months)
	case allDays:
		weekdays := c.weekdayWords()
		if fixed {
			return weekdays + " " + times + wordsPrefixed(" in ", months)
		}
		return times + " on " + weekdays + wordsPrefixed(" in ", months)
	default:
		return c.dateWords(times, months)
	}
}

// timeWords describes minutes and hours: at fixed times of the day ("at 03:00"), or at even distances through it.
// It returns "" for anything else.
func (c *Calendar) timeWords() (words string, fixed bool) {
	minutes, hours := calendarValues(c.minutes), calendarValues(c.hours)
	if len(hours) == 24 {
		if step := evenStep(minutes, 60); step == 60 {
			return "every hour", false
		} else if step > 0 {
			return everyWords(step, "minute"), false
		}
		if len(minutes) == 1 {
			return fmt.Sprintf("at minute %d of every hour", minutes[0]), false
		}
		return "", false
	}
	if step := evenStep(hours, 24); step > 0 && len(hours) > 2 && len(minutes) == 1 && minutes[0] == 0 {
		return everyWords(step, "hour"), false
	}
	if len(minutes)*len(hours) <= wordsAtMost {
		var at []string
		for _, h := range hours {
			for _, m := range minutes {
				at = append(at, fmt.Sprintf("%02d:%02d", h, m))
			}
		}
		return "at " + wordsAnd(at), true
	}
	if last := hours[len(hours)-1]; last-hours[0] == len(hours)-1 {
		if step := evenStep(minutes, 60); step > 0 {
			return fmt.Sprintf("every %s from %02d:00 to %02d:%02d",
				strings.TrimPrefix(everyWords(step, "minute"), "every "), hours[0], last, minutes[len(minutes)-1]), false
		}
	}
	return "", false
}

// dateWords completes the times with days of the month, which are restricted here.
func (c *Calendar) dateWords(times, months string) string {
	days := calendarValues(c.days)
	if len(days) > wordsAtMost {
		return c.expression
	}
	if len(days) == 1 && bits.OnesCount64(c.months) == 1 {
		return fmt.Sprintf("%s on %d %s", times, days[0], months)
	}
	if months == "" {
		months = "the month"
	}
	var dates []string
	for _, d := range days {
		dates = append(dates, fmt.Sprint(d))
	}
	noun := "day"
	if len(days) > 1 {
		noun = "days"
	}
	return fmt.Sprintf("%s on %s %s of %s", times, noun, wordsAnd(dates), months)
}

// weekdayWords names the chosen days of the week, Monday first.
func (c *Calendar) weekdayWords() string {
	switch c.weekdays {
	case 0b0111110:
		return "weekdays"
	case 0b1000001:
		return "Saturdays and Sundays"
	}
	var names []string
	for i := range 7 {
		if day := time.Weekday((i + 1) % 7); c.weekdays&(1<<day) != 0 {
			names = append(names, day.String()+"s")
		}
	}
	return wordsAnd(names)
}

// monthWords names the chosen months, "" if it is all of them. It returns false if they are too many to name.
func (c *Calendar) monthWords() (string, bool) {
	months := calendarValues(c.months)
	if len(months) == 12 {
		return "", true
	}
	if len(months) > wordsAtMost {
		return "", false
	}
	var names []string
	for _, m := range months {
		names = append(names, time.Month(m).String())
	}
	return wordsAnd(names), true
}

func everyWords(n int, unit string) string {
	if n == 1 {
		return "every " + unit
	}
	return fmt.Sprintf("every %d %ss", n, unit)
}

// evenStep returns the distance of the values if they begin at 0 and divide the whole evenly, otherwise 0.
func evenStep(values []int, whole int) int {
	if len(values) == 0 || whole%len(values) != 0 {
		return 0
	}
	step := whole / len(values)
	for i, v := range values {
		if v != i*step {
			return 0
		}
	}
	return step
}

// calendarValues lists the set bits, ascending.
func calendarValues(set uint64) []int {
	var values []int
	for ; set != 0; set &= set - 1 {
		values = append(values, bits.TrailingZeros64(set))
	}
	return values
}

func wordsPrefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func wordsAnd(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
