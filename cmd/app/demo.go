package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/google/uuid"

	"example.com/plenary/modules/sales"
	"example.com/plenary/platform/httpx"
	"example.com/plenary/platform/identity/login"
	"example.com/plenary/platform/mail/inbox"
)

const demoPassword = "demo"

// demoUsers are the people of the demo, one of each role.
func demoUsers() []login.NewUser {
	var users []login.NewUser
	for i, u := range []struct{ email, name, role string }{
		{"alice@example.com", "Alice Archer", "customer"},
		{"bob@example.com", "Bob Baker", "customer"},
		{"sam@example.com", "Sam Sawyer", "organizer"},
		{"viktor@example.com", "Viktor Viewer", "viewer"},
		{"olivia@example.com", "Olivia Operator", "operator"},
		{"ada@example.com", "Ada Admin", "admin"},
	} {
		id := uuid.MustParse("01936d10-0000-7000-8000-000000000200")
		id[15] += byte(i + 1)
		users = append(users, login.NewUser{
			User:     login.User{ID: id, Email: u.email, Name: u.name, Roles: []string{u.role}},
			Password: demoPassword,
		})
	}
	return users
}

func openInbox(c Config, logger *slog.Logger) (*inbox.Server, error) {
	return inbox.Listen(inbox.Config{Dir: filepath.Join(c.DataDir, "inbox"), Logger: logger})
}

// demoRoutes declares what only the demo has.
func (a *App) demoRoutes() {
	a.switchRoutes()
	if a.inbox == nil {
		return
	}
	httpx.Handle(a.api, httpx.Route{
		Method: "GET", Path: "/demo/mail", ID: "listDemoMail", Tags: []string{"Demo"}, Summary: "The built-in inbox, newest first",
	}, a.getDemoMail)
}

// demoMail is the inbox as the API shows it.
type demoMail struct {
	Items []inbox.Mail `json:"items"`
}

func (a *App) getDemoMail(ctx context.Context, _ struct{}) (httpx.Response[demoMail], error) {
	mails, err := a.inbox.Store().List(ctx, 200)
	return httpx.OK(demoMail{Items: mails}), err
}

// seed puts demo users and data in. What is there stays as it is.
func (a *App) seed(ctx context.Context) error {
	if err := a.login.AddMissing(ctx, demoUsers()); err != nil {
		return fmt.Errorf("demo users: %w", err)
	}
	if err := a.databases.sources["sales"].InTx(ctx, sales.Seed); err != nil {
		return err
	}
	return a.databases.sources["conference"].InTx(ctx, a.conference.Seed)
}
