package main

import (
	"context"
	"net/http"

	"example.com/plenary/modules/engagement"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/later/channel"
	"example.com/plenary/platform/live"
)

// wireEngagement makes the module and the hub that shows its rooms: each knows the other by a function.
func (a *App) wireEngagement() (err error) {
	a.hub, err = live.New(live.Config{
		Name: "rooms", Exchange: live.OverBus(a.bus, topicLive), TrustedOrigins: a.config.TrustedOrigins, SecureOrigin: a.config.SecureCookies,
		Load: func(ctx context.Context, room string) (live.State, error) { return a.engagement.LoadRoom(ctx, room) },
		Versions: func(ctx context.Context, rooms []string) (map[string]int64, error) {
			return a.engagement.Versions(ctx, rooms)
		},
		Logger: a.logger, Meter: a.telemetry.Meter("live"),
	})
	if err != nil {
		return err
	}
	a.console.Channel(func() channel.Stats { return a.hub.Stats().Changes })
	a.engagement, err = engagement.New(engagement.Deps{
		Source: a.databases.sources["engagement"], Pipeline: a.pipeline, Commands: a.commands, Events: a.events, Jobs: a.jobs,
		Permissions: a.permissions, Logger: a.logger, SigningKey: []byte(a.config.RoomSigningKey), Changed: a.hub.Changed,
	})
	return err
}

type liveInput struct {
	Code string `path:"code" maxLength:"20"`
}

// wireLive declares the route by which people watch a room.
func (a *App) wireLive() {
	httpx.HandleRaw(a.api, httpx.Route{
		Method: "GET", Path: "/engagement/rooms/{code}/live", ID: "watchRoom", Tags: []string{"Engagement"}, LongLived: true,
		Summary: "A WebSocket: how the room stands, and how it stands after each change", Status: http.StatusSwitchingProtocols,
		Errors: []int{400, 401, 403, 404, 426, 429, 503},
	}, func(w http.ResponseWriter, r *http.Request, in liveInput) error {
		join, err := a.engagement.EnterRoom(r.Context(), in.Code)
		if err != nil {
			return err
		}
		return a.hub.Serve(w, r, join)
	})
}
