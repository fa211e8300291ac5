package doctor

import (
	"slices"

	"plimsoll/internal/cluster"
)

// Round is a line of a ledger: the observations and predictions of one round.
type Round struct {
	Kind    string      `json:"kind"` // "round"
	Number  int         `json:"round"`
	At      string      `json:"at,omitempty"` // time of the snapshot, RFC 3339
	Cluster string      `json:"cluster"`
	Lost    [2]float64  `json:"lost"` // share of demand lost: observed, and predicted after the moves
	Hosts   []RoundHost `json:"hosts"`
	Moves   []RoundMove `json:"moves,omitempty"`
	Refused []Refused   `json:"refused,omitempty"`
	// Stranded are the sentences of a report.
	Stranded []string `json:"stranded,omitempty"`
	Quiet    string   `json:"quiet,omitempty"`
}

// RoundHost is a host with its VMs. Loads are shares of its capacity: observed, and predicted
// after the moves.
type RoundHost struct {
	Name   string     `json:"name"`
	State  string     `json:"state"`
	VMs    []string   `json:"vms,omitempty"`
	CPU    [2]float64 `json:"cpu"`
	Memory [2]float64 `json:"memory"`
}

// RoundMove is a recommended move.
type RoundMove struct {
	VM     string `json:"vm"`
	From   string `json:"from,omitempty"` // empty for a VM that was not running
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// newRound is the round of a report on a cluster. Its number is 0.
func newRound(c *cluster.Cluster, r *Report) *Round {
	n := &Round{Kind: "round", Cluster: c.Name, Lost: r.Lost, Refused: r.Refused, Stranded: Texts(r.Stranded), Quiet: r.Quiet, Hosts: make([]RoundHost, len(c.Hosts))}
	for h := range c.Hosts {
		seen := &r.Hosts[h]
		n.Hosts[h] = RoundHost{Name: seen.Name, State: seen.State, CPU: seen.CPU, Memory: seen.Memory}
	}
	for v := range c.VMs {
		if h := c.VMs[v].Host; h != cluster.Nowhere {
			n.Hosts[h].VMs = append(n.Hosts[h].VMs, c.VMs[v].Name)
		}
	}
	for _, m := range r.Moves {
		n.Moves = append(n.Moves, RoundMove{m.VM, m.From, m.To, m.Reason})
	}
	return n
}

// where is the host of each VM.
func (r *Round) where() map[string]string {
	at := map[string]string{}
	for _, h := range r.Hosts {
		for _, v := range h.VMs {
			at[v] = h.Name
		}
	}
	return at
}

// host finds a host by name; nil if there is none.
func (r *Round) host(name string) *RoundHost {
	i := slices.IndexFunc(r.Hosts, func(h RoundHost) bool { return h.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Hosts[i]
}

// journeys are the moves of a round, one per VM: from its first host to its last.
func (r *Round) journeys() []RoundMove {
	var out []RoundMove
	at := map[string]int{}
	for _, m := range r.Moves {
		if i, known := at[m.VM]; known {
			out[i].To = m.To
			continue
		}
		at[m.VM] = len(out)
		out = append(out, m)
	}
	return slices.DeleteFunc(out, func(m RoundMove) bool { return m.From == m.To })
}

// sees reports whether two rounds observed the same.
func (r *Round) sees(o *Round) bool {
	return r.At == o.At && r.Lost[0] == o.Lost[0] && slices.EqualFunc(r.Hosts, o.Hosts, func(a, b RoundHost) bool {
		return a.Name == b.Name && a.State == b.State && a.CPU[0] == b.CPU[0] && a.Memory[0] == b.Memory[0] && slices.Equal(a.VMs, b.VMs)
	})
}
