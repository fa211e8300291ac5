package doctor

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/place"
)

// Answer is what is said of one machine: of its host, and of every other.
type Answer struct {
	VM    string        `json:"vm"`
	Host  string        `json:"host,omitempty"`
	Says  []string      `json:"says"`
	Hosts []Alternative `json:"hosts,omitempty"`
}

// Why says why a machine is where it is, whether a round would move it, and what speaks
// for and against every other host.
func Why(c *cluster.Cluster, v cluster.VMID) *Answer {
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	a := about(c, v)
	plan := balance.Round(l, x, balance.Options{})
	said := false
	for _, m := range plan.Moves {
		if m.VM == v {
			a.Says = append(a.Says, fmt.Sprintf("a round would move it to %s: %s (%s)", c.Hosts[m.To].Name, why(c, m), effect(c, m)))
			said = true
		}
	}
	for _, f := range plan.Refused {
		if f.VM == v {
			a.Says = append(a.Says, fmt.Sprintf("a move to %s was not made: %s", c.Hosts[f.To].Name, f.Why))
			said = true
		}
	}
	if !said && l.Host(v) != cluster.Nowhere {
		a.Says = append(a.Says, "a round would leave it there: "+plan.Quiet)
	}
	if c.VMs[v].Pinned {
		a.Says = append(a.Says, "it is pinned to its host")
	}
	asks := x.Demand(v)
	for _, verdict := range place.New(l, x).Explain(v) {
		if verdict.Host == l.Host(v) {
			continue
		}
		text := verdict.Obstacle.Text(c, verdict.Host)
		if verdict.Obstacle.Check == cluster.Fine {
			text = "it could run there, which would then be " + loadText(l.Demand(verdict.Host).Plus(asks), x.Capacity(verdict.Host)) + " full"
		}
		a.Hosts = append(a.Hosts, Alternative{c.Hosts[verdict.Host].Name, text})
	}
	return a
}

// WhyNot says what speaks against a machine on a host: the first thing that forbids it,
// or what the move would bring and cost.
func WhyNot(c *cluster.Cluster, v cluster.VMID, h cluster.HostID) *Answer {
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	a := about(c, v)
	if l.Host(v) == h {
		a.Says = append(a.Says, "it runs there")
		return a
	}
	a.Says = append(a.Says, balance.Judge(l, x, place.Step{VM: v, From: l.Host(v), To: h})...)
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
