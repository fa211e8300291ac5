package watch

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/live"
)

// step reports the events of a step.
func (t *reporter) step(s live.Step) (out []Line) {
	first := t.now == nil
	t.now = s.Cluster
	if first {
		out = append(out, t.begin(s.At))
	}
	for _, e := range s.Events {
		if e.At.After(s.At) { // by a clock that is ahead of this machine's
			e.At = s.At
		}
		if l := t.event(e); l.Text != "" {
			out = append(out, l)
		}
	}
	return out
}

// verbs describe the events of a VM.
var verbs = map[live.EventKind]string{
	live.VMStarted: "started", live.VMStopped: "stopped", live.VMRestarted: "restarted",
	live.VMAdded: "was added", live.VMRemoved: "was removed",
}

func (t *reporter) event(e live.Event) Line {
	l := Line{At: e.At, Kind: Happened, Event: e.Kind, VM: e.VM, From: e.From, Host: e.Host, By: e.By}
	switch e.Kind {
	case live.VMMoved:
		return t.moved(l, e)
	case live.ControlLost:
		t.lost[e.Host] = e.At
		l.Kind, l.Text = Lost, t.plane(e.Host)+" does not answer"+because(e)+"; recommendations pause until it does"
		if e.Host != "" {
			l.Text = t.plane(e.Host) + " does not answer" + because(e)
		}
		return l
	case live.ControlBack:
		since, known := t.lost[e.Host]
		delete(t.lost, e.Host)
		l.Kind, l.Text = Back, t.plane(e.Host)+" answers again"
		if known {
			l.Text += fmt.Sprintf(", after %s", e.At.Sub(since).Round(time.Second))
		}
		return l
	case live.HostChanged:
		l.Text = e.Host + " changed" + by(e) + because(e)
		return l
	}
	subject := strings.TrimSpace(e.VM + " " + verbs[e.Kind])
	switch on := " on " + e.Host; {
	case e.Kind == live.VMRestarted && e.Host != "":
		l.Text = subject + on + " after its host failed" + by(e)
	case verbs[e.Kind] != "" && e.Host != "":
		l.Text = subject + on + by(e)
	case verbs[e.Kind] != "":
		l.Text = subject + by(e)
	default:
		l.Text = strings.TrimSpace(strings.TrimPrefix(subject+because(e)+by(e), ": "))
	}
	return l
}

// plane names the control plane that does not respond.
func (t *reporter) plane(host string) string {
	if host == "" {
		return "the control plane"
	}
	return "the control plane of " + host
}

func by(e live.Event) string {
	if e.By == "" {
		return ""
	}
	return " by " + e.By
}

func because(e live.Event) string {
	if e.Text == "" {
		return ""
	}
	return ": " + e.Text
}

// moved reports a move, and whether it was recommended.
func (t *reporter) moved(l Line, e live.Event) Line {
	l.Kind, l.To, l.Host = Moved, e.Host, ""
	yes := false
	for _, m := range t.standing {
		yes = yes || m.VM == e.VM && m.To == e.Host
	}
	l.Recommended = &yes
	t.told[e.VM] = e.Host
	l.Text = e.VM + " moved"
	if e.From != "" {
		l.Text += " from " + e.From
	}
	if l.Text += " to " + e.Host + by(e); yes {
		l.Text += ", as recommended"
	} else {
		l.Text += "; this was not recommended"
	}
	return l
}
