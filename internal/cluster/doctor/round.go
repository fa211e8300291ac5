package doctor

import (
	"slices"

	"plimsoll/internal/cluster"
)

// Round holds the observations and predictions of one look: a line of a ledger.
type Round struct {
	Kind    string      `json:"kind"` // "round"
	Number  int         `json:"round"`
	At      string      `json:"at,omitempty"` // when the snapshot was taken, RFC 3339
	Cluster string      `json:"cluster"`
	Lost    [2]float64  `json:"lost"` // part of the work: as seen, and as predicted once the moves are made
	Hosts   []RoundHost `json:"hosts"`
	Moves   []RoundMove `json:"moves,omitempty"`
	Refused []Refused   `json:"refused,omitempty"`
	// Stranded are the texts of a report.
	Stranded []string `json:"stranded,omitempty"`
	Quiet    string   `json:"quiet,omitempty"`
}

// RoundHost is a host with its VMs. Loads are shares of its capacity: as seen, and
// as predicted once the moves are made.
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
	From   string `json:"from,omitempty"` // empty for a VM that ran nowhere
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// NewRound is the line of a report on a cluster. Its number is 0.
func NewRound(c *cluster.Cluster, r *Report) *Round {
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

// host finds a host by its name; nil where there is none.
func (r *Round) host(name string) *RoundHost {
	i := slices.IndexFunc(r.Hosts, func(h RoundHost) bool { return h.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Hosts[i]
}

// journeys are the moves of a round, one for each VM: from where it was to where
// its last move takes it.
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

// sees reports whether two rounds saw the same.
func (r *Round) sees(o *Round) bool {
	return r.At == o.At && r.Lost[0] == o.Lost[0] && slices.EqualFunc(r.Hosts, o.Hosts, func(a, b RoundHost) bool {
		return a.Name == b.Name && a.State == b.State && a.CPU[0] == b.CPU[0] && a.Memory[0] == b.Memory[0] && slices.Equal(a.VMs, b.VMs)
	})
}
