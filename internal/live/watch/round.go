package watch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/cluster/doctor/warning"
	"plimsoll/internal/cluster/doctor/words"
)

// reporter keeps what was reported before.
type reporter struct {
	ledger   *doctor.Ledger
	now      *cluster.Cluster
	lost     map[string]time.Time // lost control planes: "" is the cluster's, others those of hosts
	standing []doctor.RoundMove   // reported recommendations
	told     map[string]string    // moves since the last round: the host by VM
	load     *load                // last reported load
	problems map[string]problem   // by identity
	same     int                  // rounds in the ledger equal to the last
	balanced bool                 // reported that no recommendation remains
	outcome  int                  // round whose outcome was reported
}

// problem is reported when it begins and when it ends.
type problem struct {
	kind     Kind
	text, do string
}

// identity identifies a warning over time. Warnings about earlier rounds keep their identity
// as their VMs change, since those were reported when it happened.
func identity(w warning.Warning) string {
	switch w.Kind {
	case "competing balancer", "flapping", "not followed":
		return w.Kind
	}
	return fmt.Sprintf("%s %q %q %q", w.Kind, w.VMs, w.Hosts, w.Pools)
}

func newTeller(l *doctor.Ledger) *reporter {
	t := &reporter{ledger: l, lost: map[string]time.Time{}, told: map[string]string{}, problems: map[string]problem{}}
	if n := len(l.Rounds); n > 0 {
		t.standing = l.Rounds[n-1].Moves
	}
	return t
}

// begin reports the start of the watch.
func (t *reporter) begin(at time.Time) Line {
	running := 0
	for i := range t.now.VMs {
		if t.now.VMs[i].Host != cluster.Nowhere {
			running++
		}
	}
	text := fmt.Sprintf("watching %s: %s, %s running", t.now.Name, words.Count(len(t.now.Hosts), "host"), words.Count(running, "VM"))
	if n := len(t.ledger.Rounds); n > 0 {
		last := t.ledger.Rounds[n-1]
		text += fmt.Sprintf("; continues after round %d of %s, which recommended %s", last.Number, last.At, words.Count(len(last.Moves), "move"))
	}
	return Line{At: at, Kind: Begin, Text: text}
}

// round evaluates the cluster, and reports changes. It returns the round for the ledger; nil
// if the ledger already has enough equal ones.
func (t *reporter) round(at time.Time) (out []Line, keep *doctor.Round, err error) {
	if _, lost := t.lost[""]; lost || t.now == nil {
		return nil, nil, nil
	}
	report, round, err := t.ledger.Look(t.now, t.forward(at).UTC().Format(time.RFC3339))
	if err != nil {
		return nil, nil, err
	}
	say := func(kind Kind, format string, args ...any) {
		out = append(out, Line{At: at, Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	for _, text := range t.outcomes(report) {
		say(Prediction, "%s", text)
	}
	out = append(out, t.unseen(report, at)...)
	if now := loadOf(report); t.load == nil || now.differs(t.load) {
		t.load = now
		say(Load, "%s", now)
	}
	out = append(out, t.troubles(report, at)...)
	out = append(out, t.moves(report, at)...)
	clear(t.told)
	return out, t.enter(round), nil
}

// forward is a time not before the last round, even if the clock was set back.
func (t *reporter) forward(at time.Time) time.Time {
	if n := len(t.ledger.Rounds); n > 0 {
		if last, err := time.Parse(time.RFC3339, t.ledger.Rounds[n-1].At); err == nil && at.Before(last) {
			return last
		}
	}
	return at
}

// enter adds a round to the ledger, unless it is the fourth of the same.
func (t *reporter) enter(r *doctor.Round) *doctor.Round {
	const enough, remembered = 3, 100 // the ledger's warnings need three equal rounds, and up to 50 in all
	if r == nil {
		return nil
	}
	if n := len(t.ledger.Rounds); n > 0 && alike(t.ledger.Rounds[n-1], r) {
		if t.same++; t.same >= enough {
			return nil
		}
	} else {
		t.same = 0
	}
	t.ledger.Rounds = append(t.ledger.Rounds, r)
	t.ledger.Rounds = t.ledger.Rounds[max(0, len(t.ledger.Rounds)-remembered):]
	return r
}

// alike reports whether two rounds have the same layout and recommendations.
func alike(a, b *doctor.Round) bool {
	return slices.Equal(a.Moves, b.Moves) && slices.EqualFunc(a.Hosts, b.Hosts, func(a, b doctor.RoundHost) bool {
		return a.Name == b.Name && a.State == b.State && slices.Equal(a.VMs, b.VMs)
	})
}

// moves reports new recommendations, those that no longer hold, and the end of all.
func (t *reporter) moves(r *doctor.Report, at time.Time) (out []Line) {
	var now []doctor.RoundMove
	for _, m := range r.Moves {
		move := doctor.RoundMove{VM: m.VM, From: m.From, To: m.To, Reason: m.Reason}
		now = append(now, move)
		if slices.Contains(t.standing, move) {
			continue
		}
		text := fmt.Sprintf("move %s from %s to %s: %s; %s; %s", m.VM, m.From, m.To, m.Why, m.Evidence, m.Effect)
		if m.From == "" {
			text = fmt.Sprintf("start %s on %s: %s; %s; %s", m.VM, m.To, m.Why, m.Evidence, m.Effect)
		}
		if m.Value != "" {
			text += "; " + m.Value
		}
		out = append(out, Line{At: at, Kind: Recommend, VM: m.VM, From: m.From, To: m.To, Text: text})
	}
	where := map[string]string{}
	for i := range t.now.VMs {
		if h := t.now.VMs[i].Host; h != cluster.Nowhere {
			where[t.now.VMs[i].Name] = t.now.Hosts[h].Name
		}
	}
	for _, m := range t.standing {
		if !slices.Contains(now, m) && where[m.VM] != m.To {
			out = append(out, Line{At: at, Kind: Withdraw, VM: m.VM, From: m.From, To: m.To, Text: fmt.Sprintf("the move of %s from %s to %s is no longer recommended", m.VM, m.From, m.To)})
		}
	}
	if t.standing = now; len(now) > 0 {
		t.balanced = false
	} else if !t.balanced {
		t.balanced = true
		out = append(out, Line{At: at, Kind: Balanced, Text: "no move is recommended: " + r.Quiet})
	}
	return out
}

// troubles reports new stranded VMs, violated constraints and warnings, and those that ended.
func (t *reporter) troubles(r *doctor.Report, at time.Time) (out []Line) {
	now := map[string]problem{}
	var order []string
	add := func(key string, p problem) {
		if _, twice := now[key]; !twice {
			order = append(order, key)
		}
		now[key] = p
	}
	for _, text := range r.Broken {
		key := text
		if strings.HasPrefix(text, "host ") { // the text contains amounts, which change
			key, _, _ = strings.Cut(text, ": ")
		}
		add("constraint "+key, problem{Violated, text, ""})
	}
	for _, s := range r.Stranded {
		add("stranded "+s.VM, problem{Stranded, s.Text, ""})
	}
	for _, w := range r.Warnings {
		add(identity(w), problem{Warn, w.Kind + ": " + w.Text, w.Do})
	}
	for _, key := range order {
		if _, known := t.problems[key]; !known {
			text := now[key].text
			if now[key].do != "" {
				text += "; to do: " + now[key].do
			}
			out = append(out, Line{At: at, Kind: now[key].kind, Text: text})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.problems)) {
		if _, still := now[key]; !still {
			out = append(out, Line{At: at, Kind: Resolved, Text: "no longer: " + t.problems[key].text})
		}
	}
	t.problems = now
	return out
}

// outcomes reports the outcome of the last round whose moves were made.
func (t *reporter) outcomes(r *doctor.Report) (out []string) {
	o := r.Last
	if o == nil || o.Round == t.outcome || o.Summary.Made+o.Summary.Elsewhere+o.Summary.Gone == 0 {
		return nil
	}
	t.outcome = o.Round
	s := &o.Summary
	text := fmt.Sprintf("round %d: %d of %s made", o.Round, s.Made, words.Count(len(o.Moves), "recommended move"))
	if s.Judged > 0 {
		text += fmt.Sprintf("; error of predicted loads: median %.1f points, maximum %.1f", s.Median, s.Largest)
	}
	if s.LargestAt != "" {
		text += " (" + s.LargestAt + ")"
	}
	out = append(out, text)
	for _, h := range o.Hosts {
		if h.Disturbed == "" {
			out = append(out, fmt.Sprintf("%s: CPU %s; memory %s", h.Name, h.CPU, h.Memory))
		}
	}
	return out
}

// unseen reports moves between two rounds without an event, such as while the control plane
// was lost or nobody watched.
func (t *reporter) unseen(r *doctor.Report, at time.Time) (out []Line) {
	if r.Last == nil {
		return nil
	}
	for _, m := range slices.Concat(r.Last.Others, r.Last.Explained) {
		if t.told[m.VM] == m.To {
			continue
		}
		no := false
		text := fmt.Sprintf("%s moved from %s to %s since the last round; this was not recommended", m.VM, m.From, m.To)
		if m.Why != "" {
			text += ", as " + m.Why
		}
		out = append(out, Line{At: at, Kind: Moved, VM: m.VM, From: m.From, To: m.To, Recommended: &no, Text: text})
	}
	return out
}

// load is the loads of hosts, as shares of capacity.
type load struct {
	cpu, memory [2]float64 // lowest and highest of connected hosts
	fullest     [2]string
	lost        float64
}

func loadOf(r *doctor.Report) *load {
	l := &load{lost: r.Lost[0]}
	first := true
	for _, h := range r.Hosts {
		if h.State != string(cluster.Connected) {
			continue
		}
		for _, part := range []struct {
			extent *[2]float64
			name   *string
			share  float64
		}{{&l.cpu, &l.fullest[0], h.CPU[0]}, {&l.memory, &l.fullest[1], h.Memory[0]}} {
			if first || part.share < part.extent[0] {
				part.extent[0] = part.share
			}
			if first || part.share > part.extent[1] {
				part.extent[1], *part.name = part.share, h.Name
			}
		}
		first = false
	}
	return l
}

// differs reports whether the load differs enough from the one reported last.
func (l *load) differs(told *load) bool {
	const points, lostPoints = .05, .01
	far := func(a, b, by float64) bool { return math.Abs(a-b) >= by }
	for i := range 2 {
		if far(l.cpu[i], told.cpu[i], points) || far(l.memory[i], told.memory[i], points) {
			return true
		}
	}
	return far(l.lost, told.lost, lostPoints)
}

// String is the load as text.
func (l *load) String() string {
	return fmt.Sprintf("hosts at %.0f to %.0f %% CPU (highest: %s) and %.0f to %.0f %% memory (highest: %s); %.2f %% of the work is slowed down or not served",
		100*l.cpu[0], 100*l.cpu[1], l.fullest[0], 100*l.memory[0], 100*l.memory[1], l.fullest[1], 100*l.lost)
}
