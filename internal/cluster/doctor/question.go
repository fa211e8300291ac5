package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/place"
)

// Answer is the report on one VM: on its host and on every other.
type Answer struct {
	VM    string        `json:"vm"`
	Host  string        `json:"host,omitempty"`
	Says  []string      `json:"says"`
	Hosts []Alternative `json:"hosts,omitempty"`
}

// Why explains a VM's host, whether a round would move it, and what prevents every other host
// from running it.
func Why(c *cluster.Cluster, v cluster.VMID) *Answer {
	x := cluster.NewIndex(c)
	s := indexedCluster{c, x, cluster.NewLayout(c, x)}
	a := about(c, v)
	plan := balance.Round(s.l, x, advice.Options{})
	then := indexedCluster{c, x, s.l.Clone()}
	r := &Report{Moves: then.tell(plan, advice.Options{})}
	r.Stranded, r.Remaining = then.unresolved(plan)
	for i, m := range plan.Moves {
		if m.VM == v {
			a.Says = append(a.Says, fmt.Sprintf("a round would move it to %s: %s (%s)", c.Hosts[m.To].Name, r.Moves[i].Why, effect(c, m)))
		}
	}
	for _, f := range plan.Refused {
		if f.VM == v {
			a.Says = append(a.Says, fmt.Sprintf("a move to %s was not made: %s", c.Hosts[f.To].Name, f.Why))
		}
	}
	a.Says = append(a.Says, r.about(c.VMs[v].Name)...)
	for _, violation := range cluster.Violations(c, s.l.Host) {
		if slices.Contains(violation.VMs, v) {
			a.Says = append(a.Says, "it violates a hard constraint: "+violation.Text)
		}
	}
	if len(a.Says) == 0 && s.l.Host(v) != cluster.Nowhere {
		a.Says = append(a.Says, "a round would leave it there: "+plan.Quiet)
	}
	if c.VMs[v].Pinned {
		a.Says = append(a.Says, "it is pinned to its host")
	}
	if denied := s.denied(v); denied != "" {
		a.Says = append(a.Says, "it cannot start: "+denied)
	}
	a.Hosts = s.others(v)
	return a
}

// about is the report on a VM that must leave its host.
func (r *Report) about(name string) (says []string) {
	for _, s := range r.Stranded {
		if s.VM == name {
			says = append(says, s.Text)
		}
	}
	for _, remaining := range r.Remaining {
		for _, s := range remaining.VMs {
			if s.VM == name && !slices.Contains(says, s.Text) {
				says = append(says, s.Text)
			}
		}
	}
	return says
}

// denied is why a VM without a host may not start on any; empty if it may.
func (s indexedCluster) denied(v cluster.VMID) string {
	if s.l.Host(v) != cluster.Nowhere {
		return ""
	}
	p := place.New(s.l, s.x)
	p.Ask(divvy.NewLedger(s.c, s.x, s.x.Total(s.c), nil))
	return p.Denied(v)
}

// others lists for every other host the obstacle, or its load with the VM, and the VM's own
// host for comparison.
func (s indexedCluster) others(v cluster.VMID) (out []Alternative) {
	own, asks := s.l.Host(v), s.x.Demand(v)
	for _, verdict := range place.New(s.l, s.x).Explain(v) {
		switch {
		case verdict.Host == own:
			continue
		case verdict.Obstacle.Check != cluster.Fine:
			out = append(out, s.obstacle(verdict, v))
			continue
		}
		cause := &Cause{Kind: Feasible, Load: loadOf(s.l.Demand(verdict.Host).Plus(asks), s.x.Capacity(verdict.Host))}
		text := "it could run there: the host would be " + cause.Load.fuller(0) + " full"
		if own != cluster.Nowhere {
			cause.Chosen = loadOf(s.l.Demand(own), s.x.Capacity(own))
			text += ", " + s.c.Hosts[own].Name + " is " + cause.Chosen.fuller(0)
		}
		out = append(out, Alternative{s.c.Hosts[verdict.Host].Name, text, cause})
	}
	return out
}

// WhyNot is the first obstacle to a VM on a host, or the benefit and cost of the move.
func WhyNot(c *cluster.Cluster, v cluster.VMID, h cluster.HostID) *Answer {
	x := cluster.NewIndex(c)
	s := indexedCluster{c, x, cluster.NewLayout(c, x)}
	a := about(c, v)
	step := place.Step{VM: v, From: s.l.Host(v), To: h}
	obstacle := s.l.Obstacle(v, h)
	switch denied := s.denied(v); {
	case step.From == h:
		a.Says = append(a.Says, "it runs there")
	case obstacle.Check == cluster.Fine && denied != "":
		a.Says = append(a.Says, "it cannot start: "+denied)
	case obstacle.Check == cluster.Fine && step.From == cluster.Nowhere && place.New(s.l, x).Strains(step) != "":
		a.Says = append(a.Says, place.New(s.l, x).Strains(step))
	default:
		a.Says = append(a.Says, balance.Judge(s.l, x, step)...)
	}
	return a
}

func about(c *cluster.Cluster, v cluster.VMID) *Answer {
	a := &Answer{VM: c.VMs[v].Name, Says: []string{}}
	if h := c.VMs[v].Host; h != cluster.Nowhere {
		a.Host = c.Hosts[h].Name
	}
	return a
}

// Text writes an answer for an operator.
func (a *Answer) Text(w io.Writer) error {
	b := &strings.Builder{}
	where := "runs nowhere"
	if a.Host != "" {
		where = "runs on " + a.Host
	}
	fmt.Fprintf(b, "%s %s\n", a.VM, where)
	for _, s := range a.Says {
		fmt.Fprintf(b, "  %s\n", s)
	}
	for _, h := range a.Hosts {
		fmt.Fprintf(b, "  %s: %s\n", h.Host, h.Why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
