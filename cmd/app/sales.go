package main

import (
	"example.com/plenary/modules/sales"
	"example.com/plenary/modules/sales/sandbox"
	"example.com/plenary/platform/mail"
)

func (a *App) wireSales() error {
	mailer, err := a.mailer()
	if err != nil {
		return err
	}
	a.sales, err = sales.New(sales.Deps{
		Source: a.databases.sources["sales"], Pipeline: a.pipeline, Commands: a.commands, Events: a.events, Jobs: a.jobs,
		Permissions: a.permissions, Gateway: sandbox.New(a.databases.sandbox), Mailer: mailer, Customers: a.login,
		Logger: a.logger, ExpiresAfter: a.config.OrderExpiresAfter, GatewayTimeout: a.config.GatewayTimeout, BaseURL: a.config.BaseURL,
	})
	return err
}

// mailer returns the way out for mail: the configured server, or the demo's own inbox.
func (a *App) mailer() (sales.Mailer, error) {
	url := string(a.config.SMTPURL)
	if url == "" && a.config.Demo {
		var err error
		if a.inbox, err = openInbox(a.config, a.logger); err != nil {
			return nil, err
		}
		url = a.inbox.URL()
	}
	if url == "" {
		return nil, nil // a web process mails nothing
	}
	mailer, err := mail.New(mail.Config{URL: url, From: a.config.MailFrom, Timeout: a.config.mailTimeout(), Logger: a.logger})
	if err != nil || !a.config.Demo {
		return mailer, err
	}
	return demoMailer{mailer, a.faults, a.logger}, nil
}
