package web

import (
	"time"

	"example.com/plenary/platform/later/schedule"
)

// jobBadge says how a job stands: first what somebody has to look at.
func jobBadge(j schedule.Job) badge {
	switch {
	case j.Problem != nil:
		return badge{"bad", "Parked"}
	case !j.Enabled:
		return badge{"calm", "Paused"}
	case j.Late:
		return badge{"wait", "Late"}
	case j.NextRunOn == nil:
		return badge{"calm", "Never due"}
	default:
		return badge{"good", "On time"}
	}
}

// runBadge says what became of a run, or of windows that were skipped.
func runBadge(r schedule.Run) badge {
	switch {
	case r.Outcome == nil && r.Error != nil:
		return badge{"wait", "Retrying"}
	case r.Outcome == nil && r.StartedOn == nil:
		return badge{"wait", "Waiting"}
	case r.Outcome == nil:
		return lastBadge("running")
	default:
		return lastBadge(*r.Outcome)
	}
}

// lastBadge is for an outcome of a run, and not of one attempt at it: there is none after it.
func lastBadge(outcome string) badge {
	switch outcome {
	case "running":
		return badge{"busy", "Running"}
	case "succeeded":
		return badge{"good", "Succeeded"}
	case "failed":
		return badge{"bad", "Failed"}
	case "skipped":
		return badge{"calm", "Skipped"}
	default:
		return badge{"calm", outcome}
	}
}

// fromWords says who gave a job its schedule.
func fromWords(source string) string {
	switch source {
	case "code":
		return "from the code"
	case "configuration":
		return "from the configuration"
	case "operator":
		return "from an operator"
	default:
		return source
	}
}

// inZone returns a moment by the clocks of a zone; of one that nobody knows, by UTC.
func inZone(t time.Time, zone string) time.Time {
	location, err := time.LoadLocation(zone)
	if err != nil {
		location = time.UTC
	}
	return t.In(location)
}

// zoned writes a moment in its own zone, to the minute: it is for what is planned.
func zoned(t time.Time) string { return t.Format("Mon 2 Jan 2006, 15:04 MST") }

// relative says how far away a moment is, in one unit.
func relative(t, now time.Time) string {
	away := t.Sub(now).Abs()
	var far string
	switch {
	case away < time.Minute:
		far = "less than a minute"
	case away < 90*time.Minute:
		far = count(int(away/time.Minute), "minute", "minutes")
	case away < 36*time.Hour:
		far = count(int(away/time.Hour), "hour", "hours")
	default:
		far = count(int(away/(24*time.Hour)), "day", "days")
	}
	if t.Before(now) {
		return far + " ago"
	}
	return "in " + far
}
