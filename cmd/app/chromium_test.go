package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// chromium is a real browser, without a window. Each of its tabs is somebody else's: they share no cookies.
type chromium struct {
	t    *testing.T
	conn *websocket.Conn
	deaf chan struct{} // closed when nothing is heard of the browser any more

	mu       sync.Mutex
	last     int
	waiting  map[int]chan devtoolsMessage
	troubles []string // errors of scripts, and what the content policy has refused
}

// devtoolsMessage is one of the browser's protocol: an answer if it has an ID, else an event.
type devtoolsMessage struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

// noBrowser is what is said where there is none. The suite runs without it, and says so; with NEED_BROWSER it fails.
const noBrowser = "no Chromium is installed: the live flow was not run in a browser (Debian: apt-get install chromium)"

func findChromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

var devtoolsAddress = regexp.MustCompile(`DevTools listening on (ws://\S+)`)

// startChromium runs a browser until the test ends, and returns nil where none is installed.
func startChromium(t *testing.T) *chromium {
	t.Helper()
	program := findChromium()
	if program == "" {
		if os.Getenv("NEED_BROWSER") != "" {
			t.Fatal(noBrowser)
		}
		t.Log(noBrowser)
		return nil
	}
	profile, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-port=0", "--user-data-dir=" + profile}
	if os.Getuid() == 0 {
		arguments = append(arguments, "--no-sandbox") // it refuses to run as root with one
	}
	process := exec.Command(program, append(arguments, "about:blank")...)
	said, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	address := make(chan string, 1)
	go func() {
		defer close(exited)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if found := devtoolsAddress.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
		_ = process.Wait()
	}()
	c := &chromium{t: t, deaf: make(chan struct{}), waiting: map[int]chan devtoolsMessage{}}
	t.Cleanup(func() {
		if c.conn != nil {
			_ = c.conn.CloseNow()
			<-c.deaf
		}
		_ = process.Process.Kill()
		<-exited
		_ = os.RemoveAll(profile) // a child of the browser may still be writing to it
	})
	select {
	case at := <-address:
		c.connect(at)
	case <-exited:
		t.Fatalf("%s has ended at once", program)
	case <-time.After(40 * time.Second):
		t.Fatalf("%s does not say where to reach it", program)
	}
	return c
}

func (c *chromium) connect(address string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	c.conn = conn
	go c.hear()
}

// hear ends with the connection.
func (c *chromium) hear() {
	defer close(c.deaf)
	for {
		_, data, err := c.conn.Read(context.Background())
		if err != nil {
			c.mu.Lock()
			for _, answer := range c.waiting {
				close(answer)
			}
			c.waiting = nil
			c.mu.Unlock()
			return
		}
		var m devtoolsMessage
		if json.Unmarshal(data, &m) != nil {
			continue
		}
		c.mu.Lock()
		switch {
		case m.ID != 0 && c.waiting[m.ID] != nil:
			c.waiting[m.ID] <- m
			delete(c.waiting, m.ID)
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded" && strings.Contains(string(m.Params), `"source":"security"`):
			c.troubles = append(c.troubles, string(m.Params))
		}
		c.mu.Unlock()
	}
}

// send asks the browser, or one of its tabs, for something.
func (c *chromium) send(session, method string, params any, into any) error {
	answer := make(chan devtoolsMessage, 1)
	c.mu.Lock()
	if c.waiting == nil {
		c.mu.Unlock()
		return errors.New("the browser has gone")
	}
	c.last++
	id := c.last
	c.waiting[id] = answer
	c.mu.Unlock()
	data, err := json.Marshal(map[string]any{"id": id, "sessionId": session, "method": method, "params": params})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	if err := c.conn.Write(ctx, websocket.MessageText, data); err != nil {
		return err
	}
	select {
	case m, ok := <-answer:
		if !ok {
			return errors.New("the browser has gone")
		}
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(m.Result, into)
	case <-ctx.Done():
		return fmt.Errorf("%s: no answer", method)
	}
}

// do is send that must work.
func (c *chromium) do(session, method string, params any, into any) {
	c.t.Helper()
	if params == nil {
		params = struct{}{}
	}
	if err := c.send(session, method, params, into); err != nil {
		c.t.Fatal(err)
	}
}
