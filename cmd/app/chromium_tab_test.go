package main

import (
	"encoding/json"
	"errors"
)

// tab is one person's page.
type tab struct {
	*chromium
	w       *world
	name    string
	base    string
	session string
}

// tab lets somebody sit down who reaches the program at base.
func (c *chromium) tab(w *world, name, base string) *tab {
	c.t.Helper()
	var made struct{ BrowserContextID, TargetID, SessionID string }
	c.do("", "Target.createBrowserContext", nil, &made)
	c.do("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": made.BrowserContextID}, &made)
	c.do("", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		c.do(made.SessionID, domain+".enable", nil, nil)
	}
	return &tab{chromium: c, w: w, name: name, base: base, session: made.SessionID}
}

func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(b.session, "Page.navigate", map[string]any{"url": b.base + path}, nil)
	b.until(path, `location.pathname + location.search === `+asScript(path)+` && document.readyState === "complete"`)
}

// eval returns what a script comes to.
func (b *tab) eval(script string) (value any) {
	b.t.Helper()
	value, err := b.try(script)
	if err != nil {
		b.t.Fatalf("%s: %s: %v", b.name, script, err)
	}
	return value
}

func (b *tab) try(script string) (any, error) {
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	err := b.send(b.session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &answer)
	if err == nil && answer.ExceptionDetails != nil {
		err = errors.New(answer.ExceptionDetails.Exception.Description)
	}
	return answer.Result.Value, err
}

// until waits for a script to come to true. Between two pages it cannot be asked, which is no yes either.
func (b *tab) until(what, script string) {
	b.t.Helper()
	b.w.within(b.name+": "+what, func() bool {
		value, err := b.try(script)
		return err == nil && value == true
	})
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.until(selector, `!!document.querySelector(`+asScript(selector)+`)`)
	b.eval(`document.querySelector(` + asScript(selector) + `).click()`)
}

// press presses a key: it goes where the focus is.
func (b *tab) press(key string) {
	b.t.Helper()
	codes := map[string]map[string]any{
		" ":     {"code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
		"Tab":   {"code": "Tab", "windowsVirtualKeyCode": 9},
		"Enter": {"code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key}
		for name, value := range codes[key] {
			params[name] = value
		}
		b.do(b.session, "Input.dispatchKeyEvent", params, nil)
	}
}

func asScript(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}
