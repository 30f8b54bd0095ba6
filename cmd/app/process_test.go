package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/plenary/platform/devpg/pgtest"
	"example.com/plenary/platform/postgres"
	"example.com/plenary/platform/postgres/postgrestest"
)

// binary builds the program once for all tests that need it as a process.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "plenary-test-*")
	if err != nil {
		return "", err
	}
	binaryDir = dir
	path := filepath.Join(dir, "app")
	if output, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, output)
	}
	return path, nil
})

// binaryDir is where it is, if a test has needed it.
var binaryDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if binaryDir != "" {
		os.RemoveAll(binaryDir)
	}
	os.Exit(code)
}

// process is the program in a process of its own, to be killed, frozen and stopped.
type process struct {
	client
	w    *world
	cmd  *exec.Cmd
	done chan error
}

func (w *world) spawn(settings ...string) *process {
	w.t.Helper()
	path, err := binary()
	if err != nil {
		w.t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	environ := maps.Clone(w.environ)
	environ["HTTP_ADDR"], environ["LEASE"], environ["LOG_LEVEL"] = address, "2s", "info"
	for i := 0; i < len(settings); i += 2 {
		environ[settings[i]] = settings[i+1]
	}
	p := &process{w: w, client: client{t: w.t, base: "http://" + address}, done: make(chan error, 1)}
	p.cmd = exec.Command(path, "serve")
	p.cmd.Env = os.Environ()
	for name, value := range environ {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = w.t.Output(), w.t.Output()
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	w.t.Cleanup(p.kill)
	w.within("the start of a process", func() bool {
		response, err := patient.Get(p.base + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return p
}

func (p *process) signal(s os.Signal) {
	p.w.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.w.t.Fatal(err)
	}
}

// kill is kill -9, and waits for the end. The second time it does nothing.
func (p *process) kill() {
	if p.done == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	p.done = nil
}

// trap stops statements of the program in their tracks: a trigger waits for a lock that the test holds.
type trap struct {
	w     *world
	super *postgres.Source
	table string
	open  func()
}

const trapKey = 7_411_000

// set arms a trap on one kind of statement ("INSERT", "UPDATE") on a table, for rows that meet the condition.
func (w *world) set(table, statement, condition string) *trap {
	w.t.Helper()
	super := w.superuser()
	postgrestest.Exec(w.t, super, `CREATE SCHEMA IF NOT EXISTS trap`)
	postgrestest.Exec(w.t, super, `GRANT USAGE ON SCHEMA trap TO public`)
	postgrestest.Exec(w.t, super, fmt.Sprintf(`CREATE OR REPLACE FUNCTION trap.wait() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_advisory_xact_lock_shared(%d); RETURN NEW; END $$`, trapKey))
	postgrestest.Exec(w.t, super, fmt.Sprintf(`CREATE TRIGGER trap BEFORE %s ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION trap.wait()`,
		statement, table, condition))
	held, opened := make(chan struct{}), make(chan struct{})
	var holder sync.WaitGroup
	holder.Go(func() {
		err := super.InTx(context.Background(), func(ctx context.Context, tx *postgres.Tx) error {
			_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, trapKey)
			close(held)
			<-opened
			return err
		})
		if err != nil {
			w.t.Errorf("trap: %v", err)
		}
	})
	<-held
	t := &trap{w: w, super: super, table: table}
	t.open = sync.OnceFunc(func() { close(opened); holder.Wait() })
	w.t.Cleanup(t.open)
	return t
}

// superuser is somebody who may do anything to the database of Sales.
func (w *world) superuser() *postgres.Source {
	w.t.Helper()
	return postgrestest.Connect(w.t, postgres.Config{
		URL: pgtest.AsSuperuser(w.t, w.sales.Database().URL()), Application: "superuser", StatementTimeout: time.Minute, LockTimeout: time.Minute,
	}).Source("superuser")
}

const trapped = `FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'plenary%'
	AND wait_event_type = 'Lock' AND wait_event = 'advisory'`

// caught waits until the program sits in the trap.
func (t *trap) caught() {
	t.w.t.Helper()
	t.w.within("something in the trap on "+t.table, func() bool {
		return postgrestest.Value[int](t.w.t, t.super, `SELECT count(*) `+trapped) > 0
	})
}

// end ends the sessions in the trap, as the server does when it finds their client gone.
func (t *trap) end() {
	t.w.t.Helper()
	postgrestest.Value[int](t.w.t, t.super, `SELECT count(pg_terminate_backend(pid)) `+trapped)
}

// remove lets everything pass, what sits in the trap included.
func (t *trap) remove() {
	t.w.t.Helper()
	t.open()
	postgrestest.Exec(t.w.t, t.super, `DROP TRIGGER trap ON `+t.table)
}

// A kill -9 at each step between the order and the mail. Whatever the step, and whether or not the statement
// under way still takes effect, the customer gets exactly one mail about each declined payment.
func TestKillAnywhereBetweenOrderAndMail(t *testing.T) {
	t.Parallel()
	steps := []struct{ name, table, statement, condition string }{
		{"the order is stored", "sales.orders", "INSERT", "true"},
		{"the payment is stored", "sales.payments", "INSERT", "true"},
		{"the decline is recorded", "sales.payments", "UPDATE", "true"},
		{"the event is published", "platform.events", "INSERT", "true"},
		{"the delivery is claimed", "platform.deliveries", "UPDATE", "NEW.claim > OLD.claim"},
		{"the event is handled", "platform.inbox", "INSERT", "true"},
		{"the mail is scheduled", "platform.internal_commands", "INSERT", "NEW.name = 'sales.send_payment_failed_email'"},
		{"the delivery is stamped", "platform.deliveries", "UPDATE", "NEW.processed_on IS NOT NULL"},
		{"the mail is claimed", "platform.internal_commands", "UPDATE", "NEW.name = 'sales.send_payment_failed_email' AND NEW.claim > OLD.claim"},
	}
	for _, step := range steps {
		for _, lands := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lands=%v", step.name, lands), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, true)
				p := w.spawn()
				alice := p.as("alice@example.com")
				before := w.available("conference-pass")
				trap := w.set(step.table, step.statement, step.condition)
				asked := make(chan struct{})
				go func() {
					defer close(asked)
					_, _, _, _ = alice.try("POST", "/sales/orders", orderOf(1, "tok_declined"))
				}()
				trap.caught()
				if step.table == "platform.deliveries" && strings.Contains(step.condition, "processed_on") {
					// The handler has committed, so the mail is on its way beside the stamp. The kill must not fall
					// between the mail server's answer and the mail's own stamp, which is another test.
					w.within("the mail's stamp", func() bool {
						return postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM platform.internal_commands
							WHERE name = 'sales.send_payment_failed_email' AND processed_on IS NOT NULL`) == 1
					})
				}
				p.kill()
				<-asked
				if !lands {
					trap.end()
				}
				trap.remove()
				w.spawn()
				checkOneMailEach(t, w, before)
			})
		}
	}
}

// checkOneMailEach waits until nothing is due, and then holds orders, mails, charges and stock together.
func checkOneMailEach(t *testing.T, w *world, before int) {
	t.Helper()
	declined := func() int {
		return postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM sales.orders WHERE status = 'payment_failed'`)
	}
	all := func() int { return postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM sales.orders`) }
	w.within("the end of the story", func() bool { return declined() == all() && len(w.sent(t)) >= all() && w.settled() })
	if orders, mails := all(), len(w.sent(t)); orders > 1 || mails != orders {
		t.Errorf("%d orders, %d mails\n%s", orders, mails, w.rows())
	}
	if charges := postgrestest.Value[int](t, w.ledger, `SELECT count(*) FROM sandbox.charges`); charges != all() {
		t.Errorf("%d orders, %d charges", all(), charges)
	}
	if got := w.available("conference-pass"); got != before-all() {
		t.Errorf("%d orders, %d of %d available", all(), got, before)
	}
}

// The one window: the mail server has the mail, and the process dies before it can say so to the database. The
// mail comes again, under the same Message-ID.
func TestKillBetweenTheMailServersAnswerAndTheStamp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	p := w.spawn()
	alice := p.as("alice@example.com")
	trap := w.set("platform.internal_commands", "UPDATE", "NEW.name = 'sales.send_payment_failed_email' AND NEW.processed_on IS NOT NULL")
	o := alice.order(1, "tok_declined")
	trap.caught()
	if n := w.about(o.Number); n != 1 {
		t.Fatalf("%d mails before the kill", n)
	}
	p.kill()
	trap.end()
	trap.remove()
	w.spawn()
	w.within("the second mail", func() bool { return w.about(o.Number) == 2 && w.settled() })
	if mails := w.sent(t); mails[0].MessageID != mails[1].MessageID {
		t.Errorf("Message-IDs %s and %s", mails[0].MessageID, mails[1].MessageID)
	}
}

// A replica freezes in the middle of a transactional command, past its lease. Its session is ended, the other
// one takes over, and what the frozen one does when it wakes lands nowhere.
func TestFrozenReplicaInsideATransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	frozen := w.spawn()
	alice := frozen.as("alice@example.com")
	before := w.available("conference-pass")
	o := alice.order(1, "tok_declined")
	w.within("the mail", func() bool { return w.about(o.Number) == 1 && w.settled() })

	trap := w.set("sales.products", "UPDATE", "NEW.available > OLD.available")
	postgrestest.Exec(t, w.sales, `UPDATE sales.orders SET expires_on = now()`)
	postgrestest.Exec(t, w.sales, `UPDATE platform.internal_commands SET next_attempt_on = now()
		WHERE id = (SELECT id FROM platform.internal_commands WHERE name = 'sales.expire_unpaid_order' ORDER BY created_on LIMIT 1)`)
	postgrestest.Value[bool](t, w.sales, `SELECT pg_notify('plenary', 'test work ') IS NOT NULL`)
	trap.caught()
	frozen.signal(syscall.SIGSTOP)
	trap.remove() // the statement goes on, and its session then waits inside the transaction for a frozen client
	other := w.spawn()
	bob := other.as("alice@example.com")
	w.within("the takeover", func() bool { return bob.show(o.ID).Status == "expired" && w.settled() })
	frozen.signal(syscall.SIGCONT)
	w.within("the frozen one's wake-up", func() bool { _, _, _, err := alice.try("GET", "/auth/me", nil); return err == nil })
	w.within("quiet", w.settled)
	if got := w.available("conference-pass"); got != before {
		t.Errorf("%d available, want %d: the stock came back %d times", got, before, got-before+1)
	}
	outcomes := postgrestest.Value[string](t, w.sales, `
		SELECT string_agg(a.outcome, ' ' ORDER BY a.claim) FROM platform.attempts a JOIN platform.internal_commands c ON c.id = a.work_id
		WHERE c.name = 'sales.expire_unpaid_order' AND c.crashes > 0`)
	if outcomes != "crashed succeeded" {
		t.Errorf("attempts: %s", outcomes)
	}
}

// A replica freezes while it talks to the mail server. The other one sends the mail; the frozen one's answer
// comes to a row that is no longer its own.
func TestFrozenReplicaOutsideATransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	frozen := w.spawn()
	alice := frozen.as("alice@example.com")
	trap := w.set("platform.internal_commands", "UPDATE", "NEW.name = 'sales.send_payment_failed_email' AND NEW.processed_on IS NOT NULL AND NEW.claim = 1")
	o := alice.order(1, "tok_declined")
	trap.caught() // the mail is out; the stamp is on its way
	frozen.signal(syscall.SIGSTOP)
	trap.end() // and never arrives
	trap.remove()
	w.spawn()
	w.within("the takeover", func() bool {
		return postgrestest.Value[int](t, w.sales, `SELECT count(*) FROM platform.internal_commands
			WHERE name = 'sales.send_payment_failed_email' AND processed_on IS NOT NULL AND claim = 2`) == 1
	})
	frozen.signal(syscall.SIGCONT)
	w.within("the frozen one's wake-up", func() bool { _, _, _, err := alice.try("GET", "/auth/me", nil); return err == nil })
	w.within("quiet", w.settled)
	outcomes := postgrestest.Value[string](t, w.sales, `
		SELECT string_agg(a.outcome, ' ' ORDER BY a.claim) FROM platform.attempts a JOIN platform.internal_commands c ON c.id = a.work_id
		WHERE c.name = 'sales.send_payment_failed_email'`)
	if outcomes != "crashed succeeded" {
		t.Errorf("attempts: %s", outcomes)
	}
	if n := w.about(o.Number); n > 2 {
		t.Errorf("%d mails", n)
	}
}

// SIGTERM in the middle of everything: nothing is lost, nothing counts as a crash, and the process says 0.
func TestSIGTERMEndsInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	p := w.spawn()
	alice := p.as("alice@example.com")
	trap := w.set("platform.internal_commands", "UPDATE", "NEW.name = 'sales.send_payment_failed_email' AND NEW.processed_on IS NOT NULL")
	o := alice.order(1, "tok_declined")
	trap.caught()
	began := time.Now()
	p.signal(syscall.SIGTERM)
	trap.remove()
	err := <-p.done
	p.done = nil
	if took := time.Since(began); err != nil || took > 20*time.Second {
		t.Errorf("ended after %v with %v", took, err)
	}
	if n := w.about(o.Number); n != 1 || !w.settled() {
		t.Errorf("%d mails; %s", n, w.rows())
	}
	if n := postgrestest.Value[int](t, w.sales, `SELECT coalesce(sum(crashes), 0)::int FROM platform.internal_commands`); n != 0 {
		t.Errorf("%d suspected crashes", n)
	}
}
