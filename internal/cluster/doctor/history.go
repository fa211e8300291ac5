package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/doctor/warning"
	"plimsoll/internal/cluster/doctor/words"
)

// Thresholds of warnings about several rounds.
const (
	longMemory     = 50 // rounds that are read
	flapWindow     = 6  // rounds within which a VM that returns to a host flaps
	returnAfter    = 3  // rounds in which a VM is not recommended to return to a host that it left
	repeated       = 3  // consecutive rounds that are reported as a repetition
	competingMoves = 3  // moves without recommendation that suggest a second balancer
	badMedian      = 10 // median error in points that is reported
)

// Record is the accuracy of the rounds of a ledger.
type Record struct {
	Rounds  int     `json:"rounds"` // that have a successor
	Moves   int     `json:"moves"`  // that they recommended
	Made    int     `json:"made"`
	Undone  int     `json:"undone"` // recommended moves that were reverted
	Others  int     `json:"others"` // moves without a recommendation
	Judged  int     `json:"judged"` // predictions compared
	Median  float64 `json:"median"` // in points
	Largest float64 `json:"largest"`
	Flaps   []Flap  `json:"flaps,omitempty"`
}

// Flap is a VM that left a host and returned.
type Flap struct {
	VM    string  `json:"vm"`
	Host  string  `json:"host"`
	Via   string  `json:"via"`
	Round [2]int  `json:"rounds"` // after which it left and returned
	Asked [2]bool `json:"asked"`  // whether those rounds recommended it
}

// Undone reports whether a round recommended that the VM leaves, and it returned without a
// recommendation.
func (f Flap) Undone() bool { return f.Asked[0] && !f.Asked[1] }

// String describes the flap.
func (f Flap) String() string {
	by := [2]string{"not recommended", "not recommended"}
	for i, asked := range f.Asked {
		if asked {
			by[i] = "as recommended"
		}
	}
	return fmt.Sprintf("%s left %s for %s after round %d (%s) and returned after round %d (%s)", f.VM, f.Host, f.Via, f.Round[0], by[0], f.Round[1], by[1])
}

// passage is an observed move, between a round and the next.
type passage struct {
	vm, from, to string
	after        int // index of the round before it
	asked        bool
	explained    bool
}

// history is the evidence of several rounds.
type history struct {
	rounds   []*Round
	outcomes []*Outcome // of each but the last
	passages []passage
}

func newHistory(rounds []*Round) *history {
	h := &history{rounds: rounds[max(0, len(rounds)-longMemory):]}
	for i := 0; i+1 < len(h.rounds); i++ {
		o := h.rounds[i].Follow(h.rounds[i+1])
		h.outcomes = append(h.outcomes, o)
		for _, m := range o.Moves {
			if m.From != "" && (m.What == Made || m.What == Elsewhere) {
				h.passages = append(h.passages, passage{vm: m.VM, from: m.From, to: m.Now, after: i, asked: m.What == Made})
			}
		}
		for _, m := range o.Others {
			h.passages = append(h.passages, passage{vm: m.VM, from: m.From, to: m.To, after: i})
		}
		for _, m := range o.Explained {
			h.passages = append(h.passages, passage{vm: m.VM, from: m.From, to: m.To, after: i, explained: true})
		}
	}
	return h
}

// flaps finds VMs that left a host and returned.
func (h *history) flaps() (out []Flap) {
	for j, back := range h.passages {
		for i := j - 1; i >= 0; i-- {
			away := h.passages[i]
			if away.vm != back.vm || away.explained || back.explained {
				continue
			}
			if away.from == back.to && back.after-away.after <= flapWindow {
				out = append(out, Flap{back.vm, away.from, away.to, [2]int{h.rounds[away.after].Number, h.rounds[back.after].Number}, [2]bool{away.asked, back.asked}})
				break
			}
		}
	}
	return out
}

// record sums up all rounds with an outcome.
func (h *history) record() *Record {
	if len(h.outcomes) == 0 {
		return nil
	}
	r := &Record{Rounds: len(h.outcomes), Flaps: h.flaps()}
	var errors []float64
	for _, o := range h.outcomes {
		r.Moves += len(o.Moves)
		r.Made += o.Summary.Made
		r.Others += len(o.Others)
		r.Largest = max(r.Largest, o.Summary.Largest)
		errors = append(errors, o.Summary.errors...)
	}
	for _, f := range r.Flaps {
		if f.Undone() {
			r.Undone++
		}
	}
	r.Judged, r.Median = len(errors), median(errors)
	return r
}

// warnings reports a competing balancer, flapping VMs, and moves recommended or rejected
// repeatedly.
func (h *history) warnings() (out []warning.Warning) {
	r := h.record()
	if r == nil {
		return nil
	}
	if w := h.competing(r); w != nil {
		out = append(out, *w)
	}
	var says, names []string
	for _, f := range r.Flaps {
		says, names = append(says, f.String()), append(names, f.VM)
	}
	if len(says) > 0 {
		slices.Sort(names)
		out = append(out, warning.Warning{Kind: "flapping", Text: words.Several(says), VMs: slices.Compact(names),
			Do: "find who moves it back; a VM is not recommended to return to a host within " + words.Count(returnAfter, "round") + " of leaving it"})
	}
	out = append(out, h.ignored()...)
	out = append(out, h.stuck()...)
	if r.Judged > 0 && r.Median > badMedian {
		out = append(out, warning.Warning{Kind: "predictions", Text: fmt.Sprintf("the median error of predicted loads is %.1f points (%d predictions in %s)", r.Median, r.Judged, words.Count(r.Rounds, "round")),
			Do: "demand changes faster than snapshots are taken: take them more often, or choose another level"})
	}
	return out
}

// competing reports moves that no round recommended and nothing explains.
func (h *history) competing(r *Record) *warning.Warning {
	if r.Undone == 0 && r.Others < competingMoves {
		return nil
	}
	var says, names []string
	for _, o := range h.outcomes {
		for _, m := range o.Others {
			says, names = append(says, fmt.Sprintf("%s from %s to %s after round %d", m.VM, m.From, m.To, o.Round)), append(names, m.VM)
		}
	}
	slices.Sort(names)
	text := fmt.Sprintf("%s made that no round recommended (%s)", were(len(says), "move"), words.Several(says))
	if r.Undone > 0 {
		text += fmt.Sprintf(", and %d of them reverted a recommended move", r.Undone)
	}
	return &warning.Warning{Kind: "competing balancer", Text: text + ": another balancer or an administrator moves VMs", VMs: slices.Compact(names),
		Do: "disable the other balancer, or pin the VMs that it manages"}
}

func were(n int, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return fmt.Sprintf("%d %ss were", n, what)
}

// ignored reports moves that were repeatedly recommended and never made.
func (h *history) ignored() []warning.Warning {
	var says, names []string
	last := len(h.outcomes) - 1
	for _, m := range h.outcomes[last].Moves {
		n := 0
		for i := last; i >= 0 && slices.ContainsFunc(h.outcomes[i].Moves, func(o MoveOutcome) bool {
			return o.VM == m.VM && o.To == m.To && o.What == NotMade
		}); i-- {
			n++
		}
		if n >= repeated {
			says, names = append(says, fmt.Sprintf("%s to %s in %d rounds", m.VM, m.To, n)), append(names, m.VM)
		}
	}
	if len(says) == 0 {
		return nil
	}
	return []warning.Warning{{Kind: "not followed", Text: "repeatedly recommended, and not made: " + words.Several(says), VMs: names,
		Do: "make the move, or pin the VM"}}
}

var digits = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// stuck reports an obstacle that prevented all moves in several consecutive rounds.
func (h *history) stuck() []warning.Warning {
	last := h.rounds[len(h.rounds)-1]
	reason := func(r *Round) string {
		if len(r.Moves) > 0 || len(r.Refused) == 0 && len(r.Stranded) == 0 {
			return ""
		}
		return digits.ReplaceAllString(r.Quiet+strings.Join(r.Stranded, ";"), "#")
	}
	n := 0
	for i := len(h.rounds) - 1; i >= 0 && reason(last) != "" && reason(h.rounds[i]) == reason(last); i-- {
		n++
	}
	if n < repeated {
		return nil
	}
	says := append([]string(nil), last.Stranded...)
	if len(last.Refused) > 0 || len(says) == 0 {
		says = append(says, last.Quiet)
	}
	return []warning.Warning{{Kind: "stuck", Text: fmt.Sprintf("no VM has moved for %d rounds, for the same reason: %s", n, words.Several(says)),
		Do: "plimsoll cluster what-if shows the effect of another level, fewer rules or another host"}}
}

// options prevent a round from returning a VM to a host that it left in one of the last
// rounds.
func (h *history) options(c *cluster.Cluster) advice.Options {
	left := map[[2]string]bool{}
	for _, p := range h.passages {
		if !p.explained && p.after > len(h.rounds)-2-returnAfter {
			left[[2]string{p.vm, p.from}] = true
		}
	}
	if len(left) == 0 {
		return advice.Options{}
	}
	return advice.Options{Left: func(v cluster.VMID, to cluster.HostID) bool {
		return left[[2]string{c.VMs[v].Name, c.Hosts[to].Name}]
	}}
}
