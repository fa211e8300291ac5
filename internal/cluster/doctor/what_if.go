package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
)

// Change is something that an operator might do.
type Change struct {
	Level       int // 0 leaves it
	CostBenefit *bool
	DropRules   []string
	Fail        []string // hosts
	Maintain    []string
	Return      []string // hosts that can be used again
}

// apply makes a cluster as it would be. The first is not changed.
func (ch Change) apply(c *cluster.Cluster) (*cluster.Cluster, error) {
	n := *c
	n.Hosts, n.Rules = slices.Clone(c.Hosts), slices.Clone(c.Rules)
	if ch.Level != 0 {
		if ch.Level < 1 || ch.Level > 5 {
			return nil, fmt.Errorf("level %d: levels go from 1 to 5", ch.Level)
		}
		n.Settings.Level = ch.Level
	}
	if ch.CostBenefit != nil {
		n.Settings.CostBenefit = *ch.CostBenefit
	}
	for _, name := range ch.DropRules {
		i := slices.IndexFunc(n.Rules, func(r cluster.Rule) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("the cluster has no rule %q", name)
		}
		n.Rules[i].Disabled = true
	}
	for _, s := range []struct {
		names []string
		state cluster.HostState
	}{{ch.Fail, cluster.Failed}, {ch.Maintain, cluster.Maintenance}, {ch.Return, cluster.Connected}} {
		for _, name := range s.names {
			i := slices.IndexFunc(n.Hosts, func(h cluster.Host) bool { return h.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("the cluster has no host %q", name)
			}
			n.Hosts[i].State = s.state
		}
	}
	return &n, nil
}

// Comparison is a round as it is, and as it would be.
type Comparison struct {
	Now  *Report `json:"now"`
	Then *Report `json:"then"`
}

// WhatIf compares a round of a cluster with that after a change.
func WhatIf(c *cluster.Cluster, ch Change) (*Comparison, error) {
	then, err := ch.apply(c)
	if err != nil {
		return nil, err
	}
	return &Comparison{Look(c, balance.Options{}), Look(then, balance.Options{})}, nil
}

// Text writes what differs.
func (c *Comparison) Text(w io.Writer) error {
	b := &strings.Builder{}
	row := func(name string, now, then any) { fmt.Fprintf(b, "%-28s %-12v %v\n", name, now, then) }
	row("", "now", "then")
	row("moves", len(c.Now.Moves), len(c.Then.Moves))
	row("stranded machines", len(c.Now.Stranded), len(c.Then.Stranded))
	row("broken before the moves", len(c.Now.Broken), len(c.Then.Broken))
	share := func(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) }
	row("demand lost before them", share(c.Now.Lost[0]), share(c.Then.Lost[0]))
	row("demand lost after them", share(c.Now.Lost[1]), share(c.Then.Lost[1]))
	only := func(title string, a, o *Report) {
		var lines []string
		for _, m := range a.Moves {
			if !slices.ContainsFunc(o.Moves, func(n Move) bool { return n.VM == m.VM && n.To == m.To }) {
				lines = append(lines, fmt.Sprintf("%s from %s to %s: %s", m.VM, m.From, m.To, m.Why))
			}
		}
		section(b, title, lines)
	}
	only("Moves only now", c.Now, c.Then)
	only("Moves only then", c.Then, c.Now)
	section(b, "Stranded then", c.Then.Stranded)
	if c.Then.Quiet != c.Now.Quiet {
		section(b, "Why nothing more moves then", []string{c.Then.Quiet})
	}
	_, err := io.WriteString(w, b.String())
	return err
}
