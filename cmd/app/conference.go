package main

import (
	"example.com/plenary/modules/conference"
	"example.com/plenary/modules/conference/scoring"
	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/lock"
)

func (a *App) wireConference() error {
	source := a.databases.sources["conference"]
	locks := lock.New(lock.Config{
		Source: source, Logger: a.logger, Notify: func(name string) { a.bus.Send(topicLocks, name) },
	})
	a.bus.Subscribe(topicLocks, locks.Wake)
	scorer := scoring.Offline()
	if a.config.ScoringAPIKey != "" {
		var err error
		scorer, err = scoring.NewAnthropic(scoring.AnthropicConfig{
			APIKey: a.config.ScoringAPIKey, BaseURL: a.config.ScoringBaseURL, Model: a.config.ScoringModel, Timeout: a.config.ScoringTimeout,
			Concurrency: a.config.ScoresAtOnce, Meter: a.telemetry.Meter("scoring"), Logger: a.logger,
		})
		if err != nil {
			return fault.Wrap(err, fault.Invalid, "configuration", "the configuration is not valid")
		}
	}
	var err error
	a.conference, err = conference.New(conference.Deps{
		Source: source, Pipeline: a.pipeline, Commands: a.commands, Events: a.events, Locks: locks, Scorer: scorer, Attendees: a.login,
		Logger: a.logger, Meter: a.telemetry.Meter("conference"), ScoresAtOnce: a.config.ScoresAtOnce,
	})
	if err != nil {
		return err
	}
	a.console.Progress(conference.ScoreEventSessions{}.Policy().Name, a.conference.ScoringProgress)
	return nil
}
