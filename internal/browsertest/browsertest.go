// Package browsertest opens pages in a real Chromium, for the tests of what writes them.
package browsertest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Browser is a Chromium without a window, spoken to over a pipe.
type Browser struct {
	t       *testing.T
	to      io.Writer
	from    *bufio.Reader
	id      int
	session string
	events  []message
}

// message is what a browser says.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Start starts Chromium with one empty page; the test is skipped if there is none.
func Start(t *testing.T) *Browser {
	t.Helper()
	name, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium")
	}
	fromUs, toIt, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromIt, toUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
		"--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{fromUs, toUs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	toUs.Close()
	b := &Browser{t: t, to: toIt, from: bufio.NewReader(fromIt)}
	t.Cleanup(func() {
		b.session = ""
		b.id++
		fmt.Fprintf(toIt, "{\"id\":%d,\"method\":\"Browser.close\"}\x00", b.id)
		toIt.Close()
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		fromIt.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Log", "Network", "Runtime"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call asks the browser for something, which it must not refuse.
func (b *Browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	if refusal := b.ask(method, params, result); refusal != nil {
		b.t.Fatalf("%s: %s", method, refusal)
	}
}

// ask asks the browser for something and waits for its answer; what else it says meanwhile is kept.
func (b *Browser) ask(method string, params map[string]any, result any) (refusal []byte) {
	b.t.Helper()
	b.id++
	ask := map[string]any{"id": b.id, "method": method}
	if params != nil {
		ask["params"] = params
	}
	if b.session != "" {
		ask["sessionId"] = b.session
	}
	text, err := json.Marshal(ask)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.hear()
		if m.ID != b.id {
			b.events = append(b.events, m)
			continue
		}
		if m.Error != nil {
			return m.Error
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return nil
	}
}

func (b *Browser) hear() message {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser went away: %v", err)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

// View is a way to look at a page.
type View struct {
	Width int // pixels
	Dark  bool
	Print bool
}

// Open loads a file at a view, and waits until it is there.
func (b *Browser) Open(file string, v View) {
	b.t.Helper()
	b.Visit(b.address(file), v)
}

// Visit loads an address at a view, and waits until it is there.
func (b *Browser) Visit(address string, v View) {
	b.t.Helper()
	b.events = nil
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.Width, "height": 900, "deviceScaleFactor": 1, "mobile": v.Width < 600}, nil)
	scheme := map[bool]string{true: "dark", false: "light"}[v.Dark]
	media := map[bool]string{true: "print", false: ""}[v.Print]
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.call("Page.navigate", map[string]any{"url": address}, nil)
	b.loaded()
}

// loaded waits until a page is there.
func (b *Browser) loaded() {
	b.t.Helper()
	for loaded := false; !loaded; {
		for _, e := range b.events {
			loaded = loaded || e.Method == "Page.loadEventFired"
		}
		if !loaded {
			b.events = append(b.events, b.hear())
		}
	}
}

// Scripts has pages that are opened from now on run their scripts, or not.
func (b *Browser) Scripts(on bool) {
	b.t.Helper()
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !on}, nil)
}

// Hide opens an empty tab before the page, which is hidden until that is closed.
func (b *Browser) Hide() (show func()) {
	b.t.Helper()
	var target struct{ TargetID string }
	b.outside("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	return func() {
		b.t.Helper()
		b.outside("Target.closeTarget", map[string]any{"targetId": target.TargetID}, nil)
		b.call("Page.bringToFront", nil, nil)
	}
}

// outside asks the browser for something that is not of the page.
func (b *Browser) outside(method string, params map[string]any, result any) {
	b.t.Helper()
	session := b.session
	b.session = ""
	b.call(method, params, result)
	b.session = session
}

// Press presses a key: Tab, or Enter, which leads to another page.
func (b *Browser) Press(key string) {
	b.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13}[key]
	down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
	if key == "Enter" {
		b.events = nil
		down["text"] = "\r"
	}
	b.call("Input.dispatchKeyEvent", down, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	if key == "Enter" {
		b.loaded()
	}
}

// Unnamed lists the roles of what can be operated and has no name for those who cannot see it.
func (b *Browser) Unnamed() (roles []string) {
	b.t.Helper()
	type value struct{ Value any }
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name value
		}
	}
	b.call("Accessibility.getFullAXTree", map[string]any{}, &tree)
	for _, n := range tree.Nodes {
		switch role := fmt.Sprint(n.Role.Value); role {
		case "link", "button", "textbox", "searchbox", "combobox", "radio", "checkbox", "region", "image":
			if name, _ := n.Name.Value.(string); !n.Ignored && strings.TrimSpace(name) == "" {
				roles = append(roles, role)
			}
		}
	}
	return roles
}

// Eval is the value of an expression in the page, or of what it promises.
func (b *Browser) Eval(expression string, value any) {
	b.t.Helper()
	if refusal := b.evaluate(expression, value); refusal != nil {
		b.t.Fatalf("%s: %s", expression, refusal)
	}
}

// Holds reports whether a condition holds in the page. In one that another page is about to replace, it does not.
func (b *Browser) Holds(condition string) (holds bool) {
	b.t.Helper()
	refusal := b.evaluate("Boolean("+condition+")", &holds)
	for _, gone := range []string{"navigated or closed", "context was destroyed", "Cannot find context", "Cannot find default execution context"} {
		if bytes.Contains(refusal, []byte(gone)) {
			return false
		}
	}
	if refusal != nil {
		b.t.Fatalf("%s: %s", condition, refusal)
	}
	return holds
}

func (b *Browser) evaluate(expression string, value any) (refusal []byte) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	refusal = b.ask("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if refusal != nil {
		return refusal
	}
	if answer.ExceptionDetails != nil {
		return answer.ExceptionDetails
	}
	if err := json.Unmarshal(answer.Result.Value, value); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return nil
}

// Pictures takes the page in slices that are that many pixels high, no more than most of
// them; 0 is all.
func (b *Browser) Pictures(prefix string, v View, slice, most int) {
	b.t.Helper()
	var height float64
	b.Eval("document.documentElement.scrollHeight", &height)
	for n := 0; float64(n*slice) < height && (most == 0 || n < most); n++ {
		var shot struct{ Data string }
		b.call("Page.captureScreenshot", map[string]any{
			"captureBeyondViewport": true,
			"clip":                  map[string]any{"x": 0, "y": n * slice, "width": v.Width, "height": min(float64(slice), height-float64(n*slice)), "scale": 1},
		}, &shot)
		data, err := base64.StdEncoding.DecodeString(shot.Data)
		if err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("%s-%d.png", prefix, n+1), data, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Complaints are what the page that is open did that it may not: words on the console,
// and requests for what does not lie in it or beside it.
func (b *Browser) Complaints() (out []string) {
	b.t.Helper()
	for _, e := range b.events {
		switch e.Method {
		case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
			out = append(out, "the browser complains: "+string(e.Params))
		case "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			if err := json.Unmarshal(e.Params, &p); err != nil {
				b.t.Fatal(err)
			}
			if u := p.Request.URL; !strings.HasPrefix(u, "file://") && !strings.HasPrefix(u, "data:") {
				out = append(out, "it asks for "+u)
			}
		}
	}
	return out
}
