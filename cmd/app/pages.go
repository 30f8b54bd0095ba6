package main

import (
	"example.com/plenary/web"
)

// wirePages adds what people see in a browser.
func (a *App) wirePages() (err error) {
	deps := web.Deps{
		Sales: a.sales, Conference: a.conference, Engagement: a.engagement, Login: a.login, Console: a.console, Jobs: a.jobs, Permissions: a.permissions,
		BaseURL: a.config.BaseURL, SecureCookies: a.config.SecureCookies,
	}
	if a.inbox != nil {
		deps.Inbox = a.inbox.Store()
	}
	if a.config.Demo {
		for _, u := range demoUsers() {
			deps.DemoUsers = append(deps.DemoUsers, web.DemoUser{Email: u.Email, Password: u.Password, Name: u.Name, Role: u.Roles[0]})
		}
	}
	if a.site, err = web.New(deps); err != nil {
		return err
	}
	a.site.Mount(a.api)
	return nil
}
