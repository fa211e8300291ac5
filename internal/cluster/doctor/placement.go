package doctor

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/place"
)

// Placement is the hosts of VMs that wait to be placed.
type Placement struct {
	Choices []PlacedVM `json:"choices"`
}

// PlacedVM is one of them.
type PlacedVM struct {
	VM     string        `json:"vm"`
	Host   string        `json:"host,omitempty"` // empty if no host can run it
	First  []string      `json:"first,omitempty"`
	Effect string        `json:"effect,omitempty"`
	Denied string        `json:"denied,omitempty"`
	Hosts  []Alternative `json:"hosts,omitempty"` // the other hosts, with reasons
	// Before are the moves of First.
	Before []Relocation `json:"-"`
}

// Relocation is a move of another VM that makes room.
type Relocation struct{ VM, From, To string }

// Place places the named VMs, or all that wait if none is named, in a layout that it changes.
func Place(c *cluster.Cluster, vms []cluster.VMID) (*Placement, *cluster.Layout) {
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	p := place.New(l, x)
	p.Ask(divvy.NewLedger(c, x, x.Total(c), nil))
	if len(vms) == 0 {
		for v := range c.VMs {
			if c.VMs[v].Waiting {
				vms = append(vms, cluster.VMID(v))
			}
		}
	}
	out := &Placement{Choices: []PlacedVM{}}
	for _, choice := range p.Group(vms) {
		one := PlacedVM{VM: c.VMs[choice.VM].Name, Denied: choice.Denied}
		for _, s := range choice.First {
			r := Relocation{c.VMs[s.VM].Name, c.Hosts[s.From].Name, c.Hosts[s.To].Name}
			one.Before = append(one.Before, r)
			one.First = append(one.First, fmt.Sprintf("%s from %s to %s", r.VM, r.From, r.To))
		}
		if choice.Host != cluster.Nowhere {
			one.Host = c.Hosts[choice.Host].Name
			one.Effect = "the host is then " + loadOf(l.Demand(choice.Host), x.Capacity(choice.Host)).fuller(0) + " full"
		}
		if choice.Host == cluster.Nowhere && choice.Denied == "" {
			for _, v := range p.Explain(choice.VM) {
				one.Hosts = append(one.Hosts, indexedCluster{c, x, l}.refusal(v, choice.VM))
			}
		}
		out.Choices = append(out.Choices, one)
	}
	return out, l
}

// refusal is why a host was not chosen for a VM that found none. If the host can run it now,
// earlier placements freed the room.
func (s indexedCluster) refusal(v place.Verdict, of cluster.VMID) Alternative {
	if v.Obstacle.Check != cluster.Fine {
		return s.obstacle(v, of)
	}
	return Alternative{s.c.Hosts[v.Host].Name, "it can run it once the other VMs are placed", &Cause{Kind: Feasible}}
}

// Text writes a placement for an operator.
func (p *Placement) Text(w io.Writer) error {
	b := &strings.Builder{}
	if len(p.Choices) == 0 {
		b.WriteString("No VM waits for a host. Name VMs that are off to place them.\n")
	}
	for _, c := range p.Choices {
		switch {
		case c.Host != "":
			fmt.Fprintf(b, "%s on %s: %s\n", c.VM, c.Host, c.Effect)
		case c.Denied != "":
			fmt.Fprintf(b, "%s nowhere: %s\n", c.VM, c.Denied)
		default:
			fmt.Fprintf(b, "%s nowhere\n", c.VM)
		}
		for _, f := range c.First {
			fmt.Fprintf(b, "  after %s\n", f)
		}
		for _, h := range c.Hosts {
			fmt.Fprintf(b, "  not %s: %s\n", h.Host, h.Why)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Failed counts the VMs that found no host.
func (p *Placement) Failed() (n int) {
	for _, c := range p.Choices {
		if c.Host == "" {
			n++
		}
	}
	return n
}
