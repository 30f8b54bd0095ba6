package main

import (
	"errors"
	"strings"
)

// jobSchedules are schedules that take the place of the program's.
type jobSchedules []jobSchedule

type jobSchedule struct{ name, cron, zone string }

// UnmarshalText reads "name=expression; name=expression zone". Five fields, or a word that begins with @ and what
// belongs to it, are the expression; what follows is the zone.
func (s *jobSchedules) UnmarshalText(text []byte) error {
	for entry := range strings.SplitSeq(string(text), ";") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		name, rest, ok := strings.Cut(entry, "=")
		fields := strings.Fields(rest)
		cron := 5
		switch {
		case len(fields) > 0 && fields[0] == "@every":
			cron = 2
		case len(fields) > 0 && strings.HasPrefix(fields[0], "@"):
			cron = 1
		}
		if !ok || len(fields) < cron || len(fields) > cron+1 {
			return errors.New(`a job's schedule looks like "name=0 4 * * *" or "name=0 4 * * * Europe/Berlin"`)
		}
		*s = append(*s, jobSchedule{name: strings.TrimSpace(name), cron: strings.Join(fields[:cron], " "), zone: strings.Join(fields[cron:], "")})
	}
	return nil
}
