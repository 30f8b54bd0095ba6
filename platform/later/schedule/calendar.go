package schedule

import (
	"math/bits"
	"regexp"
	"sync"
	"time"
	_ "time/tzdata" // the zones travel with the program: a small image has none of its own

	"example.com/plenary/platform/fault"
)

// Floor is the shortest interval that a calendar can ask for: the five fields know nothing below a minute, and
// @every is held to whole minutes.
const Floor = time.Minute

const (
	// An accepted calendar matches at least once in eight years: 29 February pauses from 2096 to 2104. A zone that
	// skips that very day may put it off as long again. The search for the next time goes no further.
	calendarHorizon = 20 * 366 * 24 * 60 * 60

	// A clock that is put back returns to readings of at most a day ago: that is how far a search must look behind
	// it to know which readings are repeats.
	calendarLookback = 48 * 60 * 60

	calendarFirstUnix = -62135596800 // 0001-01-01 00:00:00 UTC
	calendarLastYear  = 9999         // what RFC 3339 can write
	calendarAllHours  = 1<<24 - 1
)

// Calendar says when something is due: by the wall clock of a time zone, or at even distances. [ParseCalendar]
// makes one; the zero Calendar is never due. It is an immutable value that any number of goroutines may use, and two
// that were made of the same expression and zone compare equal with ==.
//
// # The rule for clocks that are changed
//
// If the hour field leaves out any hour of the day ("30 2 * * *"), each matching wall-clock minute is due once: at
// the first instant at which the zone's clock reads that minute or later. So a minute that is skipped in spring is
// due at the shift itself, together with all others that were skipped with it; a minute that is repeated in
// autumn is due when it comes for the first time only; and a day that a zone leaves out is made up for at the shift.
//
// If the hour field admits all 24 hours ("*/30 * * * *", "0 * * * *"), the calendar is due at every instant at which
// the zone's clock reads a matching minute: in the repeated hour again, and not at all for minutes that are skipped.
// Where clocks move by whole hours, it therefore keeps its distances in real time through both nights.
//
// @every has no wall clock: it is due at the multiples of its interval since the Unix epoch, in every zone, however
// often and whenever a process starts.
type Calendar struct {
	expression string
	zone       string
	location   *time.Location
	every      time.Duration // of @every; the fields below are then empty

	minutes, hours, days, months, weekdays uint64 // a bit for each value; Sunday is bit 0

	// eitherDay: day of month and day of week are both restricted, and one of them suffices, as in every cron.
	eitherDay bool
}

// String returns the expression, its fields separated by single spaces.
func (c *Calendar) String() string { return c.expression }

// Zone returns the name of the time zone, "UTC" if none was given.
func (c *Calendar) Zone() string { return c.zone }

// NextN returns the next n times after the given one, earliest first, as [Calendar.Next] would return them one
// after the other. There are fewer if the calendar ends.
func (c *Calendar) NextN(after time.Time, n int) []time.Time {
	var times []time.Time
	for len(times) < n {
		next, ok := c.Next(after)
		if !ok {
			break
		}
		times = append(times, next)
		after = next
	}
	return times
}

// Next returns the first time at which the calendar is due strictly after the given one, in the calendar's zone.
// It returns false if there is none up to the year 9999. Its work is bounded: no calendar and no time make it spin.
func (c *Calendar) Next(after time.Time) (time.Time, bool) {
	if c.location == nil || after.Year() > calendarLastYear {
		return time.Time{}, false
	}
	from := max(after.Unix(), calendarFirstUnix-1)
	var next int64
	if c.every > 0 {
		step := int64(c.every / time.Second)
		next = floorTo(from, step) + step
	} else {
		var ok bool
		if next, ok = c.nextByClock(from); !ok {
			return time.Time{}, false
		}
	}
	if t := time.Unix(next, 0).In(c.location); t.Year() <= calendarLastYear {
		return t, true
	}
	return time.Time{}, false
}

// nextByClock walks the stretches of time in which the zone's offset stays the same. Readings of the wall clock
// are counted like Unix seconds, as if the wall clock showed UTC: within a stretch, reading = instant + offset.
func (c *Calendar) nextByClock(after int64) (int64, bool) {
	everyHour := c.hours == calendarAllHours
	start := after - calendarLookback
	reached := int64(0) // every reading below this one has had its instant
	for first := true; start <= after+calendarHorizon; first = false {
		offset, end := c.stretch(start)
		if first || everyHour {
			reached = start + offset
		}
		low := reached
		if start <= after {
			low = max(low, floorTo(after+offset, 60)+60)
		}
		if reading, ok := c.nextReading(low, min(end, after+calendarHorizon)+offset); ok {
			return max(start, reading-offset), true
		}
		reached = max(reached, end+offset)
		start = end
	}
	return 0, false
}

// stretch returns the zone's offset at an instant, and an instant after it up to which that offset holds.
func (c *Calendar) stretch(at int64) (offset, end int64) {
	t := time.Unix(at, 0).In(c.location)
	_, seconds := t.Zone()
	_, bound := t.ZoneBounds()
	switch {
	case bound.IsZero():
		end = at + calendarHorizon + calendarLookback
	case bound.Unix() > at:
		end = bound.Unix()
	default:
		// By a zone's rule for years to come, ZoneBounds gives every year 365 days: on 31 December of a leap year
		// the bound has passed. No zone has a rule for that day; midnight UTC brings the new year's bounds.
		end = floorTo(at, 24*60*60) + 24*60*60
	}
	return int64(seconds), end
}

// nextReading returns the first matching reading of the wall clock in [low, high). It goes month by month, then day
// by day; within a day the bits answer at once.
func (c *Calendar) nextReading(low, high int64) (int64, bool) {
	low = -floorTo(-low, 60) // up to a whole minute: old offsets have seconds
	for low < high {
		day := time.Unix(low, 0).UTC()
		year, month, date := day.Date()
		if c.months&(1<<month) == 0 {
			low = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Unix()
			continue
		}
		midnight := time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix()
		if c.matchesDay(day) {
			if minute, ok := c.nextMinute(int(low-midnight) / 60); ok {
				reading := midnight + int64(minute)*60
				return reading, reading < high
			}
		}
		low = midnight + 24*60*60
	}
	return 0, false
}

func (c *Calendar) matchesDay(day time.Time) bool {
	byDate := c.days&(1<<day.Day()) != 0
	byWeekday := c.weekdays&(1<<day.Weekday()) != 0
	if c.eitherDay {
		return byDate || byWeekday
	}
	return byDate && byWeekday
}

// comes reports whether there is a day that matches. Eight years contain every date there is, the leap day
// included; only which weekday falls on which date takes longer, and no calendar asks for that.
func (c *Calendar) comes() bool {
	day := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	for end := day.AddDate(8, 0, 0); day.Before(end); day = day.AddDate(0, 0, 1) {
		if c.months&(1<<day.Month()) != 0 && c.matchesDay(day) {
			return true
		}
	}
	return false
}

// nextMinute returns the first matching minute of a day from the given one on; both count from midnight.
func (c *Calendar) nextMinute(from int) (int, bool) {
	hour, minute := from/60, from%60
	if c.hours&(1<<hour) != 0 {
		if rest := c.minutes >> minute; rest != 0 {
			return from + bits.TrailingZeros64(rest), true
		}
	}
	later := c.hours >> (hour + 1)
	if later == 0 {
		return 0, false
	}
	hour += 1 + bits.TrailingZeros64(later)
	return hour*60 + bits.TrailingZeros64(c.minutes), true
}

// floorTo rounds down to a multiple of step, also below zero, where Go's division would round up.
func floorTo(n, step int64) int64 {
	return n - ((n%step)+step)%step
}

// zoneName is the shape of IANA names: it keeps out paths, and lower-case files beside the zones ("localtime").
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

// calendarZones keeps each zone once, so that calendars of the same zone compare equal. Only names that exist get in.
var calendarZones sync.Map // string → *time.Location

func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	if known, ok := calendarZones.Load(name); ok {
		return known.(*time.Location), nil
	}
	const message = "the time zone is not one of the IANA names, such as Europe/Berlin, America/New_York or UTC"
	if name == "Local" || len(name) > 64 || !zoneName.MatchString(name) {
		return nil, fault.New(fault.Invalid, "time_zone_invalid", message)
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "time_zone_invalid", message)
	}
	kept, _ := calendarZones.LoadOrStore(name, location)
	return kept.(*time.Location), nil
}
