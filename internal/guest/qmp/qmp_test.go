package qmp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

const greeting = `{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": ""}, "capabilities": ["oob"]}}` + "\n"

// fake answers commands as QEMU would; each handler's text follows the answer.
func fake(t *testing.T, handle func(command string, id int) string) *Monitor {
	t.Helper()
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := io.WriteString(theirs, greeting); err != nil {
			return
		}
		lines := bufio.NewScanner(theirs)
		for lines.Scan() {
			var c struct {
				Execute string
				ID      int
			}
			if json.Unmarshal(lines.Bytes(), &c) != nil {
				return
			}
			text := fmt.Sprintf(`{"return": {}, "id": %d}`, c.ID)
			if c.Execute != "qmp_capabilities" {
				text = handle(c.Execute, c.ID)
			}
			if _, err := io.WriteString(theirs, text+"\n"); err != nil {
				return
			}
		}
	}()
	m, err := New(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.Close()
		_ = theirs.Close()
		<-done
	})
	return m
}

func TestMonitor(t *testing.T) {
	m := fake(t, func(command string, id int) string {
		switch command {
		case "good":
			return fmt.Sprintf(`{"event": "STOP", "timestamp": {"seconds": 5, "microseconds": 7}}`+"\n"+`{"id": %d, "return": {"n": 3}}`, id)
		case "stranger":
			return fmt.Sprintf(`{"id": %d, "return": {"n": 9}}`+"\n"+`{"id": %d, "return": {"n": 4}}`, id+100, id)
		}
		return fmt.Sprintf(`{"id": %d, "error": {"class": "GenericError", "desc": "no such thing"}}`, id)
	})
	for command, want := range map[string]int{"good": 3, "stranger": 4} {
		var r struct{ N int }
		if err := m.Execute(t.Context(), command, map[string]any{"x": 1}, &r); err != nil || r.N != want {
			t.Errorf("%s: %d, %v, want %d", command, r.N, err, want)
		}
	}
	if err := m.Execute(t.Context(), "bad", nil, nil); err == nil || err.Error() != "QEMU command bad: no such thing" {
		t.Errorf("%v", err)
	}
	e, after, err := m.Await(t.Context(), 0, named("STOP"))
	if err != nil || after != 1 || !e.At.Equal(time.Unix(5, 7000)) || m.Mark() != 1 {
		t.Errorf("%+v, %d, %v", e, after, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := m.Await(short, after, named("STOP")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an old event is given again: %v", err)
	}
}

func TestMonitorTellsTheEnd(t *testing.T) {
	m := fake(t, func(string, int) string { return "no JSON" })
	err := m.Execute(t.Context(), "any", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "not a QMP message") {
		t.Errorf("%v", err)
	}
	if err := m.Execute(t.Context(), "later", nil, nil); err == nil {
		t.Error("a command after the end is taken")
	}
	if _, _, err := m.Await(t.Context(), 0, named("STOP")); err == nil {
		t.Error("an event after the end is waited for")
	}
}

func TestMonitorWithoutGreeting(t *testing.T) {
	ours, theirs := net.Pipe()
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), ours); err == nil || !strings.Contains(err.Error(), "greeting") {
		t.Errorf("%v", err)
	}
}

func TestMonitorKeepsTheLastEvents(t *testing.T) {
	m := &Monitor{changed: make(chan struct{})}
	for i := range 3 * keptEvents {
		m.take(message{Event: "E", Data: json.RawMessage(fmt.Sprint(i))})
	}
	e, after, err := m.Await(t.Context(), 0, named("E"))
	if err != nil || string(e.Data) != fmt.Sprint(2*keptEvents) || after != 2*keptEvents+1 || len(m.events) != keptEvents {
		t.Errorf("%s, %d, %v, %d kept", e.Data, after, err, len(m.events))
	}
}

// For any input from QEMU, a command returns a response or an error.
func FuzzMonitor(f *testing.F) {
	f.Add([]byte(greeting + `{"return": {}, "id": 0}` + "\n"))
	f.Add([]byte(greeting + `{"event": "STOP", "timestamp": {"seconds": -1, "microseconds": 1e3}}` + "\n"))
	f.Add([]byte(`{"QMP": null}` + "\n" + `{"id": 0, "error": {"desc": "x"}}` + "\n"))
	f.Add([]byte("{}\n[]\n"))
	f.Fuzz(func(t *testing.T, script []byte) {
		m, err := New(t.Context(), &tape{strings.NewReader(string(script))})
		if err != nil {
			return
		}
		var result any
		_ = m.Execute(t.Context(), "any", nil, &result) // either is right; that it returns is what counts
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if m.failure() == nil {
			t.Error("the end is not told")
		}
	})
}

// tape plays what QEMU says and takes whatever is written.
type tape struct{ io.Reader }

func (*tape) Write(p []byte) (int, error) { return len(p), nil }
func (*tape) Close() error                { return nil }

func named(name string) func(Event) bool { return func(e Event) bool { return e.Name == name } }
