package doctor

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/cluster"
)

// Outcome is the outcome of a round, as a later snapshot shows it.
type Outcome struct {
	Round int           `json:"round"`
	At    string        `json:"at,omitempty"` // of the round
	Moves []MoveOutcome `json:"moves,omitempty"`
	Hosts []HostOutcome `json:"hosts,omitempty"` // that moves were recommended from or to
	// Others are moves that the round did not recommend and no failure or maintenance of a
	// host explains.
	Others    []OtherMove `json:"others,omitempty"`
	Explained []OtherMove `json:"explained,omitempty"` // moves that one does explain
	Came      []string    `json:"came,omitempty"`      // VMs that started since
	Went      []string    `json:"went,omitempty"`
	Lost      Predicted   `json:"lost"` // share of demand
	Summary   Summary     `json:"summary"`
}

// MoveOutcome is the outcome of a recommended move.
type MoveOutcome struct {
	RoundMove
	What OutcomeKind `json:"what"`
	Now  string      `json:"now,omitempty"` // current host of the VM
}

// OutcomeKind is the kind of outcome of a recommended move.
type OutcomeKind string

// The outcomes of a move.
const (
	Made      OutcomeKind = "made"
	NotMade   OutcomeKind = "not made"
	Elsewhere OutcomeKind = "elsewhere" // the VM is on another host
	Gone      OutcomeKind = "gone"      // the VM no longer runs
)

// HostOutcome is the predicted and observed loads of a host.
type HostOutcome struct {
	Name   string    `json:"name"`
	CPU    Predicted `json:"cpu"`
	Memory Predicted `json:"memory"`
	// Disturbed is the event on the host because of which the prediction does not count.
	Disturbed string `json:"disturbed,omitempty"`
}

// Predicted is a predicted share and the observed one.
type Predicted struct {
	Predicted float64 `json:"predicted"`
	Seen      float64 `json:"seen"`
}

// Points is observed minus predicted, in percentage points.
func (p Predicted) Points() float64 { return 100 * (p.Seen - p.Predicted) }

// OtherMove is a move that no round recommended.
type OtherMove struct {
	VM   string `json:"vm"`
	From string `json:"from"`
	To   string `json:"to"`
	Why  string `json:"why,omitempty"` // its explanation
}

// Summary counts moves by outcome, and sums up the errors of predictions for undisturbed
// hosts: distances between predicted and observed loads, in points, CPU and memory separately.
type Summary struct {
	Made      int `json:"made"`
	NotMade   int `json:"notMade"`
	Elsewhere int `json:"elsewhere"`
	Gone      int `json:"gone"`
	// Reverted are earlier recommended moves that were undone without a recommendation; only a
	// ledger of more than two rounds shows them.
	Reverted  int     `json:"reverted"`
	Judged    int     `json:"judged"` // predictions
	Median    float64 `json:"median"`
	Largest   float64 `json:"largest"`
	LargestAt string  `json:"largestAt,omitempty"`

	errors []float64
}

// Follow computes the outcome of a round from a later one.
func (r *Round) Follow(now *Round) *Outcome {
	o := &Outcome{Round: r.Number, At: r.At, Lost: Predicted{r.Lost[1], now.Lost[0]}}
	was, is := r.where(), now.where()
	journeys := r.journeys()
	asked := map[string]bool{}
	disturbed := map[string]string{}
	disturb := func(host, format string, args ...any) {
		if disturbed[host] == "" {
			disturbed[host] = fmt.Sprintf(format, args...)
		}
	}
	for _, m := range journeys {
		asked[m.VM] = true
		out := MoveOutcome{RoundMove: m, Now: is[m.VM], What: fate(m, is[m.VM])}
		if out.What != Made {
			disturb(m.From, "%s was not moved as recommended", m.VM)
			disturb(m.To, "%s was not moved as recommended", m.VM)
			disturb(out.Now, "%s came", m.VM)
		}
		o.Moves = append(o.Moves, out)
	}
	for _, h := range r.Hosts {
		for _, v := range h.VMs {
			to, runs := is[v]
			switch {
			case !runs:
				o.Went = append(o.Went, v)
				disturb(h.Name, "%s no longer runs", v)
			case to != h.Name && !asked[v]:
				o.other(now, OtherMove{VM: v, From: h.Name, To: to})
				disturb(h.Name, "%s left", v)
				disturb(to, "%s came", v)
			}
		}
	}
	for _, h := range now.Hosts {
		for _, v := range h.VMs {
			if _, ran := was[v]; !ran && !asked[v] {
				o.Came = append(o.Came, v)
				disturb(h.Name, "%s is new", v)
			}
		}
	}
	o.hosts(r, now, disturbed)
	o.summarise()
	return o
}

func fate(m RoundMove, now string) OutcomeKind {
	switch now {
	case "":
		if m.From == "" {
			return NotMade
		}
		return Gone
	case m.To:
		return Made
	case m.From:
		return NotMade
	}
	return Elsewhere
}

// other adds a move that was not recommended, with its explanation.
func (o *Outcome) other(now *Round, m OtherMove) {
	switch h := now.host(m.From); {
	case h == nil:
		m.Why = m.From + " was removed"
	case h.State == string(cluster.Failed):
		m.Why = m.From + " has failed"
	case h.State == string(cluster.Maintenance) || h.State == string(cluster.Standby):
		m.Why = fmt.Sprintf("%s is in %s", m.From, h.State)
	default:
		o.Others = append(o.Others, m)
		return
	}
	o.Explained = append(o.Explained, m)
}

// hosts compares the loads of the hosts in recommended moves.
func (o *Outcome) hosts(r, now *Round, disturbed map[string]string) {
	touched := map[string]bool{}
	for _, m := range o.Moves {
		touched[m.From], touched[m.To] = true, true
	}
	for _, h := range r.Hosts {
		if !touched[h.Name] {
			continue
		}
		out := HostOutcome{Name: h.Name, CPU: Predicted{Predicted: h.CPU[1]}, Memory: Predicted{Predicted: h.Memory[1]}, Disturbed: disturbed[h.Name]}
		seen := now.host(h.Name)
		if seen == nil {
			out.Disturbed = "it was removed"
		} else {
			out.CPU.Seen, out.Memory.Seen = seen.CPU[0], seen.Memory[0]
			if seen.State != h.State && out.Disturbed == "" {
				out.Disturbed = fmt.Sprintf("it was %s and is %s", h.State, seen.State)
			}
		}
		o.Hosts = append(o.Hosts, out)
	}
}

func (o *Outcome) summarise() {
	s := &o.Summary
	for _, m := range o.Moves {
		switch m.What {
		case Made:
			s.Made++
		case NotMade:
			s.NotMade++
		case Elsewhere:
			s.Elsewhere++
		case Gone:
			s.Gone++
		}
	}
	for _, h := range o.Hosts {
		if h.Disturbed != "" {
			continue
		}
		s.judge(h.CPU, "CPU of "+h.Name)
		s.judge(h.Memory, "memory of "+h.Name)
	}
	s.Judged, s.Median = len(s.errors), median(s.errors)
}

func (s *Summary) judge(p Predicted, at string) {
	e := math.Abs(p.Points())
	s.errors = append(s.errors, e)
	if e > s.Largest {
		s.Largest, s.LargestAt = e, at
	}
}

// median of numbers; 0 of none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
