package wake_test

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// proxy is a way to the server that can fail as networks do.
type proxy struct {
	t                testing.TB
	listener         net.Listener
	network, address string // of the server
	url              string // of a database, through the proxy
	pumps            sync.WaitGroup
	answers          sync.RWMutex // held for writing: none gets through

	mu    sync.Mutex
	down  bool
	links []*link
}

// link is one connection with its two halves.
type link struct {
	client, server net.Conn
	frozen         chan struct{}
	freeze, cut    func()
}

func newProxy(t testing.TB, databaseURL string) *proxy {
	t.Helper()
	server, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t}
	p.network, p.address = pgconn.NetworkAddress(server.Host, server.Port)
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.url = fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", url.UserPassword(server.User, server.Password),
		p.listener.Addr(), server.Database)
	p.pumps.Go(p.accept)
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.breakDown()
		p.pumps.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.address)
		if err != nil {
			p.t.Error(err)
			_ = client.Close()
			continue
		}
		l := &link{client: client, server: server, frozen: make(chan struct{})}
		l.freeze = sync.OnceFunc(func() { close(l.frozen) })
		l.cut = sync.OnceFunc(func() { _, _ = client.Close(), server.Close() })
		p.mu.Lock()
		p.links = append(p.links, l)
		if p.down {
			l.cut()
		}
		p.mu.Unlock()
		p.pumps.Go(func() { l.pump(client, server, &p.answers) })
		p.pumps.Go(func() { l.pump(server, client, &sync.RWMutex{}) })
	}
}

// pump carries what it reads, or swallows it once the link is frozen: both ends see a peer that says nothing.
func (l *link) pump(to, from net.Conn, gate *sync.RWMutex) {
	defer l.cut()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		select {
		case <-l.frozen:
			continue
		default:
		}
		gate.RLock()
		_, err = to.Write(buffer[:n])
		gate.RUnlock()
		if err != nil {
			return
		}
	}
}

// freeze makes all present connections silent. New ones work.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		l.freeze()
	}
}

// delay keeps what the server answers back until release.
func (p *proxy) delay() (release func()) {
	p.answers.Lock()
	release = sync.OnceFunc(p.answers.Unlock)
	p.t.Cleanup(release)
	return release
}

// breakDown cuts every connection, and new ones too, until repair.
func (p *proxy) breakDown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for _, l := range p.links {
		l.cut()
	}
}

func (p *proxy) repair() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}
