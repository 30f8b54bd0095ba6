package main

import (
	"time"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/schedule"
)

// wireRunners makes a runner for each database.
func (a *App) wireRunners(replica lease.Replica) error {
	gate := &lease.Gate{}
	for _, p := range a.databases.all {
		db := p.db
		runner, err := lease.New(lease.Config{
			Database: db, Gate: gate, Replica: replica, Logger: a.logger, Meter: a.telemetry.Meter("later"),
			Mechanisms: []*lease.Mechanism{a.commands.Mechanism(db, a.config.Workers), a.events.Mechanism(a.config.Workers)},
			Lease:      a.config.Lease, Poll: a.config.SafetyPoll, Grace: a.config.StopGrace, UnknownGrace: orNone(a.config.UnknownGrace),
			WakeProcess: a.wakeRunners,
			Announce:    func() { a.bus.Send(topicWork, db.Name()) },
		})
		if err != nil {
			return err
		}
		a.runners = append(a.runners, runner)
		a.bus.Subscribe(topicWork, func(key string) {
			if key == "" || key == db.Name() {
				runner.Wake()
			}
		})
	}
	return nil
}

// configureJobs puts the configured schedules in the place of those that the modules have registered.
func (a *App) configureJobs() error {
	for _, s := range a.config.JobSchedules {
		if err := a.jobs.Configure(s.name, s.cron, s.zone); err != nil {
			return fault.Wrap(err, fault.Invalid, "configuration", "JOB_SCHEDULES: "+fault.As(err).Message)
		}
	}
	return nil
}

// wireClocks makes a clock for each database. Operators and the bus wake it; what it starts, the runners run.
func (a *App) wireClocks() {
	for _, p := range a.databases.all {
		clock := a.jobs.NewClock(schedule.ClockConfig{
			Database: p.db, Logger: a.logger, Meter: a.telemetry.Meter("schedule"), Poll: a.config.SafetyPoll,
		})
		a.clocks = append(a.clocks, clock)
		a.bus.Subscribe(topicJobs, func(key string) {
			if key == "" || key == p.db.Name() {
				clock.Wake()
			}
		})
	}
}

// orNone turns a setting of zero into lease's way of saying "not at all".
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func (a *App) wakeRunners() {
	for _, r := range a.runners {
		r.Wake()
	}
}
