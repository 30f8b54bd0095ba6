package wake_test

import (
	"testing"
	"time"

	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/wake"
)

func TestListenerWhoseSessionIsEndedComesBack(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one := newPeer(t, url)
	two := newPeer(t, url, func(_ *wake.Config, c *postgres.Config) { c.Application = "two" })
	one.run()
	two.run()
	for range 3 {
		ends(t, url, "two listen")
		two.hearsResync()
		one.Send("work", "sales")
		one.hears("work sales")
		two.hears("work sales")
	}
	two.logs("other replicas cannot be heard; reconnecting")
	two.logs("other replicas are heard again")
}

func TestMessageSentWhileNobodyListensIsMadeUpFor(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	network := newProxy(t, url)
	one, two, three := newPeer(t, url), newPeer(t, network.url), newPeer(t, url)
	one.run()
	two.run()
	three.run()
	network.breakDown()
	one.Send("work", "lost")
	three.hears("work lost") // so it has been told to everybody who listens
	network.repair()
	two.hearsResync()
	one.Send("work", "sales")
	two.hears("work sales")
}

// The other end vanishes without a word: nothing fails, nothing comes any more.
func TestSilentlyDeadConnectionIsNoticed(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	network := newProxy(t, url)
	one := newPeer(t, url)
	two := newPeer(t, network.url, func(c *wake.Config, _ *postgres.Config) { c.Ping = 300 * time.Millisecond })
	one.run()
	two.run()
	network.freeze()
	one.Send("work", "lost")
	two.hearsResync()
	two.logs("ping: ")
	one.Send("work", "sales")
	two.hears("work sales")
}

func TestSilenceAloneIsNoReasonToReconnect(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one := newPeer(t, url)
	two := newPeer(t, url, func(c *wake.Config, _ *postgres.Config) { c.Ping = time.Second })
	one.run()
	two.run()
	// Two pings by the server's clock.
	postgrestest.Value[bool](t, one.db.Source("shop"), `SELECT true FROM pg_sleep(2.5)`)
	one.Send("work", "sales")
	two.hears("work sales")
	if two.log.String() != "" {
		t.Errorf("a connection that lives was given up:\n%s", two.log)
	}
}
