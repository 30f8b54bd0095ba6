package ops

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"example.com/plenary/platform/fault"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/channel"
	"example.com/plenary/platform/later/internalcommand"
	"example.com/plenary/platform/later/lease"
	"example.com/plenary/platform/later/outbox"
	"example.com/plenary/platform/postgres"
)

// Summary is how all deferred work stands, and who works on it.
type Summary struct {
	Work        []WorkView    `json:"work" doc:"By database, mechanism and source"`
	Replicas    []ReplicaView `json:"replicas" doc:"By database: a replica works in each of them"`
	JobsLate    []string      `json:"jobsLate" doc:"Jobs of which an occurrence has waited for more than a minute"`
	Channels    []ChannelView `json:"channels" doc:"The channels in the memory of the replica that answers"`
	Unreachable []string      `json:"unreachable" doc:"Databases that did not answer; what lies there is missing above"`
}

// WorkView is how one module's work by one mechanism stands.
type WorkView struct {
	Database            string  `json:"database"`
	Mechanism           string  `json:"mechanism" enum:"internal-commands,outbox" doc:"As in the address of its list"`
	Source              string  `json:"source"`
	Depth               int64   `json:"depth" doc:"Not done yet, what is for later included"`
	OldestDueAgeSeconds float64 `json:"oldestDueAgeSeconds" doc:"How long the one that is overdue most has waited; 0 if none is"`
	InFlight            int64   `json:"inFlight"`
	DeadLetters         int64   `json:"deadLetters"`
	Unclaimable         int64   `json:"unclaimable" doc:"Due, and of a name that no live replica knows"`
}

// ChannelView is how a channel in memory stands, in the replica that answers and since its start.
type ChannelView struct {
	Name     string `json:"name"`
	Depth    int    `json:"depth"`
	Capacity int    `json:"capacity"`
	Pushed   int64  `json:"pushed"`
	Dropped  int64  `json:"dropped"`
}

// Channel has the summary show a channel. It is called while the program is wired.
func (c *Console) Channel(stats func() channel.Stats) { c.channels = append(c.channels, stats) }

// ReplicaView is a replica with its heartbeat.
type ReplicaView struct {
	Database       string    `json:"database"`
	ID             uuid.UUID `json:"id"`
	Host           string    `json:"host"`
	Version        string    `json:"version"`
	StartedOn      time.Time `json:"startedOn"`
	HeartbeatOn    time.Time `json:"heartbeatOn"`
	SilenceSeconds float64   `json:"silenceSeconds" doc:"Since the heartbeat, by the database's clock"`
}

// Summary reads how things stand. A database that is away is named instead of failing the others.
func (c *Console) Summary(ctx context.Context) (Summary, error) {
	s := Summary{}
	for _, db := range c.databases {
		work, replicas, err := c.summarize(ctx, db)
		if fault.KindOf(err) == fault.Unavailable {
			c.logger.WarnContext(ctx, "a database is missing from the summary", slog.String("database", db.Database().Name()), slog.Any("error", err))
			s.Unreachable = append(s.Unreachable, db.Database().Name())
			continue
		}
		if err != nil {
			return Summary{}, err
		}
		s.Work = append(s.Work, work...)
		s.Replicas = append(s.Replicas, replicas...)
		jobs, err := c.jobs.List(ctx, db)
		if err != nil {
			return Summary{}, err
		}
		for _, j := range jobs {
			if j.Late {
				s.JobsLate = append(s.JobsLate, j.Name)
			}
		}
	}
	for _, stats := range c.channels {
		now := stats()
		s.Channels = append(s.Channels, ChannelView{
			Name: now.Name, Depth: now.Depth, Capacity: now.Capacity, Pushed: now.Pushed, Dropped: now.Dropped + now.ProtectedDropped,
		})
	}
	return s, nil
}

func (c *Console) summarize(ctx context.Context, db *postgres.Source) (work []WorkView, replicas []ReplicaView, err error) {
	name := db.Database().Name()
	for _, m := range []struct {
		name  string
		table lease.Table
	}{{"internal-commands", internalcommand.Rows}, {"outbox", outbox.Deliveries}} {
		bySource, err := m.table.Summary(ctx, db)
		if err != nil {
			return nil, nil, err
		}
		for source, place := range c.sources {
			if _, listed := bySource[source]; !listed && source != db.Name() && place.Database() == db.Database() {
				bySource[source] = lease.Stats{}
			}
		}
		first := len(work)
		for source, s := range bySource {
			work = append(work, WorkView{
				Database: name, Mechanism: m.name, Source: source, Depth: s.Depth, OldestDueAgeSeconds: s.OldestDueAge,
				InFlight: s.InFlight, DeadLetters: s.DeadLetters, Unclaimable: s.Unclaimable,
			})
		}
		slices.SortFunc(work[first:], func(a, b WorkView) int { return cmp.Compare(a.Source, b.Source) })
	}
	present, err := lease.Replicas(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range present {
		replicas = append(replicas, ReplicaView{
			Database: name, ID: p.ID, Host: p.Host, Version: p.Version, StartedOn: p.StartedOn.UTC(), HeartbeatOn: p.HeartbeatOn.UTC(),
			SilenceSeconds: p.Silence.Seconds(),
		})
	}
	return work, replicas, nil
}

func (c *Console) getSummary(ctx context.Context, _ struct{}) (httpx.Response[Summary], error) {
	s, err := c.Summary(ctx)
	return httpx.OK(s), err
}
