// Package doctor reports on a cluster: its state, the moves of a round with their reasons,
// and the reasons against other moves. Reports are plain text for an operator, and values
// for programs.
package doctor

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/doctor/pools"
	"plimsoll/internal/cluster/doctor/warning"
)

// Report is the report of one round.
type Report struct {
	Cluster string `json:"cluster"`
	Round   int    `json:"round,omitempty"` // number in the ledger; 0 without one
	At      string `json:"at,omitempty"`    // when the snapshot was taken, RFC 3339
	Known   bool   `json:"known,omitempty"` // the ledger already contains this snapshot
	Level   int    `json:"level"`
	VMs     int    `json:"machines"` // that run
	Hosts   []Host `json:"hosts"`
	// Pools are the demand and the entitlement of pools; none if all VMs are in the root.
	Pools []pools.View `json:"pools,omitempty"`
	// Short are the first VMs entitled to less than their demand, Shorter is the number of
	// further ones.
	Short    []Shortfall       `json:"short,omitempty"`
	Shorter  int               `json:"shorter,omitempty"`
	Waiting  int               `json:"waiting,omitempty"` // VMs to place
	Warnings []warning.Warning `json:"warnings,omitempty"`
	Broken   []string          `json:"broken,omitempty"` // hard constraints violated now
	Moves    []Move            `json:"moves,omitempty"`
	Stranded []Stranded        `json:"stranded,omitempty"`
	// Remaining are the hard constraints violated after the moves.
	Remaining []Remaining `json:"remaining,omitempty"`
	Refused   []Refused   `json:"refused,omitempty"`
	Quiet     string      `json:"quiet,omitempty"` // why no further move is made
	// Lost is the part of all demand that is delayed or not served, before and after the
	// moves.
	Lost [2]float64 `json:"lost"`
	// Last is the outcome of the previous round, and Record the accuracy of all rounds, if
	// there is a ledger.
	Last   *Outcome `json:"last,omitempty"`
	Record *Record  `json:"record,omitempty"`
}

// Host is a host as it is, and as it would be after the moves. Loads are shares of its
// capacity.
type Host struct {
	Name     string     `json:"name"`
	State    string     `json:"state"`
	VMs      [2]int     `json:"vms"`
	CPU      [2]float64 `json:"cpu"`
	Memory   [2]float64 `json:"memory"`
	Reserved [2]float64 `json:"reserved"` // of CPU and of memory, before the moves
	// ReservedAfter is the reserved share of both after the moves.
	ReservedAfter [2]float64 `json:"reserved_after"`
	// Entitled is the entitled demand of its VMs, of CPU and of memory, before the moves:
	// above 1, the host cannot deliver what shares and reservations promise.
	Entitled [2]float64 `json:"entitled"`
}

// Shortfall is a VM entitled to less than its demand.
type Shortfall struct {
	VM       string        `json:"vm"`
	Host     string        `json:"host"`
	Pool     string        `json:"pool"`
	Demand   pools.Amounts `json:"demand"`
	Entitled pools.Amounts `json:"entitled"`
}

// Move is a move with its causes.
type Move struct {
	Step         int           `json:"step"` // moves of one step are simultaneous
	VM           string        `json:"vm"`
	From         string        `json:"from,omitempty"`
	To           string        `json:"to"`
	Reason       string        `json:"reason"`
	Why          string        `json:"why"`
	Cause        *Cause        `json:"cause"` // the same for programs
	Evidence     string        `json:"evidence"`
	Effect       string        `json:"effect"`
	Value        string        `json:"value,omitempty"`
	Alternatives []Alternative `json:"alternatives,omitempty"`
}

// Alternative is a host that was not chosen for a VM.
type Alternative struct {
	Host  string `json:"host"`
	Why   string `json:"why"`
	Cause *Cause `json:"cause,omitempty"` // the same for programs
}

// Refused is a rejected move.
type Refused struct {
	VM   string `json:"vm"`
	From string `json:"from"`
	To   string `json:"to"`
	Why  string `json:"why"`
}

// indexedCluster is a cluster with its index and layout.
type indexedCluster struct {
	c *cluster.Cluster
	x *cluster.Index
	l *cluster.Layout
}

// runs reports whether a VM of the snapshot runs.
func (s indexedCluster) runs(v int) bool { return s.c.VMs[v].Host != cluster.Nowhere }

// Look reports on a cluster, with the moves of a round.
func Look(c *cluster.Cluster, o advice.Options) *Report {
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	plan := balance.Round(l, x, o)
	r := &Report{Cluster: c.Name, At: c.At, Level: c.Settings.Level, Warnings: warning.Find(c, x, l), Quiet: plan.Quiet}
	for _, v := range cluster.Violations(c, l.Host) {
		r.Broken = append(r.Broken, v.Text)
	}
	total := int64(0)
	for v := range c.VMs {
		if c.VMs[v].Waiting {
			r.Waiting++
		}
		if c.VMs[v].Host != cluster.Nowhere {
			r.VMs++
			total += x.Demand(cluster.VMID(v)).CPU
		}
	}
	r.Hosts = make([]Host, len(c.Hosts))
	r.hosts(c, x, l, 0)
	r.entitled(indexedCluster{c, x, l})
	r.Moves = indexedCluster{c, x, l}.tell(plan, o) // the layout now includes the moves
	r.hosts(c, x, l, 1)
	if total > 0 {
		r.Lost = [2]float64{float64(plan.Before.Lost) / float64(total), float64(plan.After.Lost) / float64(total)}
	}
	r.Stranded, r.Remaining = indexedCluster{c, x, l}.unresolved(plan)
	for _, f := range plan.Refused {
		r.Refused = append(r.Refused, Refused{c.VMs[f.VM].Name, c.Hosts[f.From].Name, c.Hosts[f.To].Name, f.Why})
	}
	return r
}

// share is a part of a total; 0 of nothing.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func (r *Report) hosts(c *cluster.Cluster, x *cluster.Index, l *cluster.Layout, when int) {
	for h := range c.Hosts {
		id, host := cluster.HostID(h), &r.Hosts[h]
		host.Name, host.State = c.Hosts[h].Name, string(c.Hosts[h].State)
		demand, all := l.Demand(id), x.Capacity(id)
		host.VMs[when] = len(l.On(id))
		host.CPU[when], host.Memory[when] = share(demand.CPU, all.CPU), share(demand.Memory, all.Memory)
		reserved := l.Reserved(id)
		host.ReservedAfter = [2]float64{share(reserved.CPU, all.CPU), share(reserved.Memory, all.Memory)}
		if when == 0 {
			host.Reserved = host.ReservedAfter
		}
	}
}

// After is the host of each VM after the moves of a round.
func After(c *cluster.Cluster, o advice.Options) func(cluster.VMID) cluster.HostID {
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	for _, m := range balance.Round(l, x, o).Moves {
		l.Move(m.VM, m.To)
	}
	return l.Host
}
