package schedule

import (
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"example.com/plenary/platform/fault"
)

const (
	calendarMaxLength = 128
	calendarMaxEvery  = 31 * 24 * time.Hour
	cronStarBit       = 1 << 63 // how robfig/cron remembers that a field was a star
)

var calendarDescriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// calendarField is one of the five, in the order in which they are written.
type calendarField struct {
	name   string
	option cron.ParseOption
	high   int
	values string
	bits   func(*cron.SpecSchedule) uint64
}

var calendarFields = [5]calendarField{
	{"minute", cron.Minute, 59, "0 to 59", func(s *cron.SpecSchedule) uint64 { return s.Minute }},
	{"hour", cron.Hour, 23, "0 to 23", func(s *cron.SpecSchedule) uint64 { return s.Hour }},
	{"day of month", cron.Dom, 31, "1 to 31", func(s *cron.SpecSchedule) uint64 { return s.Dom }},
	{"month", cron.Month, 12, "1 to 12 or JAN to DEC", func(s *cron.SpecSchedule) uint64 { return s.Month }},
	{"day of week", cron.Dow, 6, "0 to 7 or SUN to SAT", func(s *cron.SpecSchedule) uint64 { return s.Dow }},
}

// calendarItem is one element of a field's list: a star, a value or a range, with a step or without.
var calendarItem = regexp.MustCompile(`^(\*|\?|[0-9]{1,2}|[A-Za-z]{3}|(?:[0-9]{1,2}|[A-Za-z]{3})-(?:[0-9]{1,2}|[A-Za-z]{3}))(?:/([0-9]{1,3}))?$`)

// ParseCalendar reads an expression, which is meant in the named time zone.
//
// The expression is five fields (minute, hour, day of month, month, day of week) of values, names, lists, ranges
// and steps; or one of @yearly, @monthly, @weekly, @daily and @hourly; or "@every" and a duration in whole minutes, from
// [Floor] to 31 days. Sunday is 0 or 7. Day of month and day of week must both match if one of them is a star,
// otherwise one of them suffices. Whatever could only be a mistake is refused: a day that never comes, a step
// beyond its range, seconds, a zone within the expression.
//
// The zone is an IANA name such as "Europe/Berlin"; "" and "UTC" are UTC.
//
// A refusal is an Invalid fault with the code "cron_invalid" or "time_zone_invalid"; its message can be shown to
// whoever wrote the expression.
func ParseCalendar(expression, zone string) (*Calendar, error) {
	location, err := loadZone(zone)
	if err != nil {
		return nil, err
	}
	fields, err := splitExpression(expression)
	if err != nil {
		return nil, err
	}
	c := &Calendar{expression: strings.Join(fields, " "), zone: location.String(), location: location}
	if fields[0] == "@every" {
		c.every, err = parseEvery(fields[1:])
	} else {
		err = c.setFields(fields)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func refuseCron(format string, args ...any) error {
	return fault.Newf(fault.Invalid, "cron_invalid", format, args...)
}

// splitExpression refuses what no part of the grammar can contain, before any parser sees it: robfig/cron
// panics on some zone prefixes, and takes others for the server's own zone.
func splitExpression(expression string) ([]string, error) {
	if len(expression) > calendarMaxLength {
		return nil, refuseCron("a schedule has at most %d characters", calendarMaxLength)
	}
	for _, b := range []byte(expression) {
		if b < ' ' || b > '~' {
			return nil, refuseCron("a schedule is written in plain ASCII characters, its fields separated by spaces")
		}
	}
	fields := strings.Fields(expression)
	if len(fields) == 0 {
		return nil, refuseCron(`the schedule is empty; "0 3 * * *", for example, is every day at 03:00`)
	}
	if upper := strings.ToUpper(fields[0]); strings.HasPrefix(upper, "TZ=") || strings.HasPrefix(upper, "CRON_TZ=") {
		return nil, refuseCron("the time zone is a setting of its own, not a part of the schedule")
	}
	return fields, nil
}

func parseEvery(fields []string) (time.Duration, error) {
	const usage = "@every takes one duration in whole minutes, such as 15m or 1h30m, from 1 minute to 31 days"
	if len(fields) != 1 {
		return 0, refuseCron(usage)
	}
	every, err := time.ParseDuration(fields[0])
	if err != nil || every < Floor || every > calendarMaxEvery || every%time.Minute != 0 {
		return 0, refuseCron(usage)
	}
	return every, nil
}

// setFields reads the five fields, or a descriptor that stands for them.
func (c *Calendar) setFields(fields []string) error {
	if strings.HasPrefix(fields[0], "@") {
		meaning, ok := calendarDescriptors[fields[0]]
		if !ok || len(fields) != 1 {
			return refuseCron("the only words are @yearly, @monthly, @weekly, @daily, @hourly and @every with a duration")
		}
		fields = strings.Fields(meaning)
	}
	if len(fields) != len(calendarFields) {
		return refuseCron("a schedule has five fields, and no seconds: minute, hour, day of month, month, day of week")
	}
	var sets [len(calendarFields)]uint64
	for i, f := range calendarFields {
		var err error
		if sets[i], err = f.parse(fields[i]); err != nil {
			return err
		}
	}
	c.eitherDay = sets[2]&cronStarBit == 0 && sets[4]&cronStarBit == 0
	for i, field := range []*uint64{&c.minutes, &c.hours, &c.days, &c.months, &c.weekdays} {
		*field = sets[i] &^ cronStarBit
	}
	if !c.comes() {
		return refuseCron("the schedule never comes: no chosen month has such a day (30 February, for example)")
	}
	return nil
}

// parse returns the field's values as bits, with robfig/cron's star bit.
func (f calendarField) parse(text string) (uint64, error) {
	var set uint64
	for item := range strings.SplitSeq(text, ",") {
		more, err := f.parseItem(item)
		if err != nil {
			return 0, err
		}
		set |= more
	}
	return set, nil
}

func (f calendarField) parseItem(item string) (uint64, error) {
	invalid := refuseCron("the %s is not valid: it takes %s, lists (1,3), ranges (1-5) and steps (*/2)", f.name, f.values)
	parts := calendarItem.FindStringSubmatch(item)
	if parts == nil || (parts[1] == "?" && f.option != cron.Dom && f.option != cron.Dow) {
		return 0, invalid
	}
	span, step := parts[1], parts[2]
	if f.option == cron.Dow {
		if low, ok := f.weekToSunday(span); ok {
			return f.stepThroughSunday(low, step)
		}
	}
	set, err := f.robfig(span)
	if err != nil {
		return 0, invalid
	}
	if step == "" {
		return set, nil
	}
	size := bits.OnesCount64(set &^ cronStarBit)
	if size == 1 && !strings.Contains(span, "-") {
		size = f.high - bits.TrailingZeros64(set) + 1 // "5/15" goes on to the end of the field
	}
	if err := f.checkStep(step, size); err != nil {
		return 0, err
	}
	if set, err = f.robfig(item); err != nil {
		return 0, invalid
	}
	return set, nil
}

// weekToSunday reports whether the span ends with Sunday as the seventh day, which robfig/cron does not know, and
// which day it begins with. FRI-SUN can mean nothing else; SUN-SUN is one day.
func (f calendarField) weekToSunday(span string) (low int, ok bool) {
	first, last, isRange := strings.Cut(span, "-")
	if !isRange {
		return 7, isSeven(first)
	}
	if !isSeven(last) && !strings.EqualFold(last, "SUN") {
		return 0, false
	}
	if isSeven(first) {
		return 7, true
	}
	set, err := f.robfig(first)
	if err != nil {
		return 0, false
	}
	low = bits.TrailingZeros64(set)
	return low, isSeven(last) || low > 0
}

func isSeven(value string) bool { return value == "7" || value == "07" }

func (f calendarField) stepThroughSunday(low int, step string) (uint64, error) {
	by := 1
	if step != "" {
		if err := f.checkStep(step, 7-low+1); err != nil {
			return 0, err
		}
		by, _ = strconv.Atoi(step)
	}
	var set uint64
	for day := low; day <= 7; day += by {
		set |= 1 << (day % 7)
	}
	return set, nil
}

// checkStep refuses a step that reaches past its range: "*/90" would quietly be once an hour.
func (f calendarField) checkStep(step string, size int) error {
	if n, err := strconv.Atoi(step); err != nil || n < 1 || n > size {
		return refuseCron("the step of the %s must be at least 1 and no larger than its range, here %d", f.name, size)
	}
	return nil
}

// robfig has the library read one field alone. A panic in it is an error here: the text comes from people.
func (f calendarField) robfig(text string) (set uint64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cron parser: panic: %v", p)
		}
	}()
	parsed, err := cron.NewParser(f.option).Parse(text)
	if err != nil {
		return 0, err
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return 0, fmt.Errorf("cron parser: %T instead of fields", parsed)
	}
	return f.bits(spec), nil
}
