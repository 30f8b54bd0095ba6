package wake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
	"example.com/plenary/platform/wake"
)

func TestSubscribersHereAreToldAtOnce(t *testing.T) {
	t.Parallel()
	bus := wake.New(wake.Config{}) // nothing runs
	var told []string
	bus.Subscribe("work", func(key string) { told = append(told, "first "+key) })
	bus.Subscribe("work", func(string) { panic("boom") })
	bus.Subscribe("work", func(key string) { told = append(told, "third "+key) })
	bus.Subscribe("evict", func(string) { t.Error("told of another topic") })
	bus.Send("work", "sales")
	bus.Send("nobody", "listens")
	if got := strings.Join(told, ", "); got != "first sales, third sales" {
		t.Errorf("told %s", got)
	}
}

func TestOtherProcessesHearEachMessageOnceAndTheSenderNoEcho(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one, two := newPeer(t, url), newPeer(t, url)
	one.run()
	two.run()
	for i, key := range []string{"sales", "", "with blanks: \t\n ÄÖ€ 'quoted' \\", strings.Repeat("k", 512)} {
		one.Send("work", key)
		one.hears("work " + key)
		two.hears("work " + key)
		// What the second says next would come after an echo, or after a repetition.
		answer := fmt.Sprint("evict ", i)
		two.Send("evict", fmt.Sprint(i))
		two.hears(answer)
		one.hears(answer)
	}
}

func TestChannelsAreApart(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	other := newPeer(t, url, func(c *wake.Config, _ *postgres.Config) { c.Channel = `another "channel"` })
	same := newPeer(t, url, func(c *wake.Config, _ *postgres.Config) { c.Channel = `another "channel"` })
	one := newPeer(t, url)
	one.run()
	other.run()
	same.run()
	one.Send("work", "not for them")
	postgrestest.Exec(t, one.db.Source("shop"), `SELECT pg_notify('plenary', 'whatever strangers say')`)
	other.Send("work", "for all")
	same.hears("work for all")
}

func TestMessageThatCannotBeToldBecomesAnything(t *testing.T) {
	t.Parallel()
	one, two, network := pair(t)
	one.run()
	two.run()
	for _, key := range []string{"nul\x00", "not \xff UTF-8", strings.Repeat("é", 257)} {
		release := underWay(one, two, network)
		one.Send("evict", key)
		one.hears("evict " + key)
		one.Send("work", "good")
		one.hears("work good")
		release()
		two.hears("evict ", "work good")
	}
}

func TestMessagesFoldWhileAStatementIsUnderWay(t *testing.T) {
	t.Parallel()
	one, two, network := pair(t)
	one.run()
	two.run()
	release := underWay(one, two, network)
	for i := range 5000 {
		one.Send("work", fmt.Sprint(i%1000))
		one.Send("evict", fmt.Sprint(i)) // too many to tell apart
	}
	release()
	want := []string{"evict "}
	for i := range 1000 {
		want = append(want, fmt.Sprint("work ", i))
	}
	two.hears(want...)
	one.Send("work", "end")
	two.hears("work end")
}

func TestWhatIsSentBeforeRunGoesOutWithIt(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one, two := newPeer(t, url), newPeer(t, url)
	two.run()
	one.Send("work", "sales")
	one.hears("work sales")
	one.run()
	two.hears("work sales")
}

func TestWhatCouldNotBeSentIsMadeUpFor(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one := newPeer(t, url, func(_ *wake.Config, c *postgres.Config) { c.AcquireTimeout = 300 * time.Millisecond })
	two := newPeer(t, url)
	one.run()
	two.run()
	// Somebody has the only connection that it could use.
	err := one.db.Control().InTx(context.Background(), func(context.Context, *postgres.Tx) error {
		one.Send("work", "sales")
		one.hears("work sales")
		for deadline := time.Now().Add(patience); !strings.Contains(one.log.String(), "could not be woken"); {
			if time.Now().After(deadline) {
				return errors.New("the failure was not logged")
			}
			postgrestest.Value[bool](t, two.db.Source("shop"), `SELECT true FROM pg_sleep(0.01)`)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	two.hears("work ")
}

// A NOTIFY inside of a transaction would be heard when that commits, and would make all commits wait for
// each other; and without a connection to spare it could not be sent at all.
func TestSendingHasNothingToDoWithTheTransactionAroundIt(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	one, two := newPeer(t, url), newPeer(t, url)
	one.run()
	two.run()
	changedMyMind := errors.New("changed my mind")
	err := one.db.Source("shop").InTx(context.Background(), func(context.Context, *postgres.Tx) error { // the only connection
		one.Send("work", "sales")
		two.hears("work sales")
		return changedMyMind
	})
	if !errors.Is(err, changedMyMind) {
		t.Error(err)
	}
}

func TestBadTopicsPanic(t *testing.T) {
	t.Parallel()
	bus := wake.New(wake.Config{})
	for _, topic := range []string{"", " ", "two words", "Work", "nul\x00", "1st", "é", strings.Repeat("t", 64), "work\n"} {
		for name, do := range map[string]func(){
			"Send":      func() { bus.Send(topic, "key") },
			"Subscribe": func() { bus.Subscribe(topic, func(string) {}) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s took %q", name, topic)
					}
				}()
				do()
			}()
		}
	}
}

func TestRunSendsWhatIsLeftWhenItEnds(t *testing.T) {
	t.Parallel()
	one, two, network := pair(t)
	stop := one.run()
	two.run()
	release := underWay(one, two, network)
	one.Send("work", "last words")
	var stopping sync.WaitGroup
	stopping.Go(func() {
		stop()
		one.db.Close() // as a program does next
	})
	postgrestest.Value[bool](t, two.db.Source("shop"), `SELECT true FROM pg_sleep(0.05)`)
	release()
	stopping.Wait()
	two.hears("work last words")
}

func TestRunEndsWithoutADatabase(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "postgres://nobody@127.0.0.1:1/none")
	p.Send("work", "to nobody")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Run does not end")
	}
}

func BenchmarkSend(b *testing.B) {
	bus := wake.New(wake.Config{})
	told := 0
	bus.Subscribe("work", func(string) { told++ })
	b.ReportAllocs()
	for b.Loop() {
		bus.Send("work", "sales")
	}
	if told == 0 {
		b.Error("nobody was told")
	}
}

// BenchmarkSendToAnotherProcess measures from Send to the other one's subscriber.
func BenchmarkSendToAnotherProcess(b *testing.B) {
	url := postgrestest.URL(b)
	one, two := newPeer(b, url), newPeer(b, url)
	one.run()
	two.run()
	for b.Loop() {
		one.Send("work", "sales")
		<-one.heard
		<-two.heard
	}
}
