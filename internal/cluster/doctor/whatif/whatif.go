// Package whatif compares a round with the one after a change, and finds the smallest changes
// that entitle a VM to an amount.
package whatif

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/cluster/doctor/pools"
	"plimsoll/internal/cluster/doctor/words"
)

// Change is a change that an operator considers.
type Change struct {
	Level       int // 0: unchanged
	CostBenefit *bool
	Headroom    string // such as 5%; empty: unchanged
	DropRules   []string
	DropAll     bool     // drop all rules
	Set         []string // settings of VMs and pools, as ParseSetting reads them
	AddHosts    []string // NEW=LIKE: a host like an existing one
	Fail        []string // hosts
	Maintain    []string
	Return      []string // hosts that become usable again
}

// apply makes a changed copy of a cluster.
func (ch Change) apply(c *cluster.Cluster) (*cluster.Cluster, error) {
	n := *c
	n.Hosts, n.Rules = slices.Clone(c.Hosts), slices.Clone(c.Rules)
	n.VMs, n.Pools = slices.Clone(c.VMs), slices.Clone(c.Pools)
	if err := ch.decide(&n); err != nil {
		return nil, err
	}
	for _, name := range ch.DropRules {
		i := slices.IndexFunc(n.Rules, func(r cluster.Rule) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("the cluster has no rule %q", name)
		}
		n.Rules[i].Disabled = true
	}
	for i := range n.Rules {
		n.Rules[i].Disabled = n.Rules[i].Disabled || ch.DropAll
	}
	for _, text := range ch.Set {
		s, err := ParseSetting(&n, text)
		if err != nil {
			return nil, err
		}
		s.apply(&n)
	}
	for _, text := range ch.AddHosts {
		if err := addHost(&n, text); err != nil {
			return nil, err
		}
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

// decide applies cluster-wide settings.
func (ch Change) decide(n *cluster.Cluster) error {
	if ch.Level != 0 {
		if ch.Level < 1 || ch.Level > 5 {
			return fmt.Errorf("level %d is out of range: 1 to 5", ch.Level)
		}
		n.Settings.Level = ch.Level
	}
	if ch.CostBenefit != nil {
		n.Settings.CostBenefit = *ch.CostBenefit
	}
	if ch.Headroom != "" {
		perMille, err := parsePerMille(ch.Headroom)
		if err != nil {
			return fmt.Errorf("headroom %q: %w", ch.Headroom, err)
		}
		n.Settings.Headroom = perMille
	}
	return nil
}

// addHost adds an empty, connected host like an existing one. No rule names it.
func addHost(n *cluster.Cluster, text string) error {
	name, like, found := strings.Cut(text, "=")
	if !found || name == "" {
		return fmt.Errorf("host %q: must be NEW=LIKE, the name of the new host and of one to copy", text)
	}
	index := func(name string) int {
		return slices.IndexFunc(n.Hosts, func(h cluster.Host) bool { return h.Name == name })
	}
	i := index(like)
	if i < 0 {
		return fmt.Errorf("the cluster has no host %q", like)
	}
	if index(name) >= 0 {
		return fmt.Errorf("the cluster already has a host %q", name)
	}
	h := n.Hosts[i]
	h.Name, h.State = name, cluster.Connected
	n.Hosts = append(n.Hosts, h)
	return nil
}

// Comparison is a round before and after a change.
type Comparison struct {
	Now  *doctor.Report `json:"now"`
	Then *doctor.Report `json:"then"`
	// Entitled are the VMs and pools whose entitlement changes most; for VMs, only entitled
	// demand counts.
	Entitled []Changed `json:"entitled,omitempty"`
}

// Changed is the entitlement of a VM or pool before and after the change.
type Changed struct {
	Name string        `json:"name"`
	Pool bool          `json:"pool,omitempty"`
	Now  pools.Amounts `json:"now"`
	Then pools.Amounts `json:"then"`
}

// mostChanged is the maximum number of reported changes.
const mostChanged = 10

// entitledChanges compares two divisions of capacity.
func entitledChanges(now, then *cluster.Cluster) (out []Changed) {
	divide := func(c *cluster.Cluster) (*cluster.Index, *divvy.Entitlements) {
		x := cluster.NewIndex(c)
		return x, divvy.Divide(c, x, x.Total(c), nil)
	}
	x, a := divide(now)
	y, b := divide(then)
	for p := 1; p < len(now.Pools); p++ {
		id := cluster.PoolID(p)
		out = append(out, Changed{now.Pools[p].Name, true, pools.Amounts(a.Pool(id)), pools.Amounts(b.Pool(id))})
	}
	used := func(gets, asks cluster.Resources) pools.Amounts {
		return pools.Amounts{CPU: min(gets.CPU, asks.CPU), Memory: min(gets.Memory, asks.Memory)}
	}
	for v := range now.VMs {
		if id := cluster.VMID(v); now.VMs[v].Host != cluster.Nowhere {
			out = append(out, Changed{now.VMs[v].Name, false, used(a.VM(id), x.Demand(id)), used(b.VM(id), y.Demand(id))})
		}
	}
	out = slices.DeleteFunc(out, func(c Changed) bool { return c.Now == c.Then })
	by := func(c Changed) int64 { return max(c.Then.CPU-c.Now.CPU, c.Now.CPU-c.Then.CPU) }
	memory := func(c Changed) int64 {
		return max(c.Then.Memory-c.Now.Memory, c.Now.Memory-c.Then.Memory)
	}
	slices.SortStableFunc(out, func(a, b Changed) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(memory(b), memory(a)))
	})
	return out[:min(len(out), mostChanged)]
}

// String describes the change.
func (c Changed) String() string {
	name := c.Name
	if c.Pool {
		name = "pool " + name
	}
	var says []string
	if c.Now.CPU != c.Then.CPU {
		says = append(says, fmt.Sprintf("%d -> %d MHz", c.Now.CPU, c.Then.CPU))
	}
	if c.Now.Memory != c.Then.Memory {
		says = append(says, fmt.Sprintf("%s -> %s", cluster.MiB(c.Now.Memory), cluster.MiB(c.Then.Memory)))
	}
	return name + ": " + strings.Join(says, ", ")
}

// Compare compares a round of a cluster with that after a change.
func Compare(c *cluster.Cluster, ch Change) (*Comparison, error) {
	then, err := ch.apply(c)
	if err != nil {
		return nil, err
	}
	return &Comparison{doctor.Look(c, advice.Options{}), doctor.Look(then, advice.Options{}), entitledChanges(c, then)}, nil
}

// WithChange is a changed copy of a cluster.
func WithChange(c *cluster.Cluster, ch Change) (*cluster.Cluster, error) { return ch.apply(c) }

// onlyIn are the texts of one list that the other lacks.
func onlyIn(a, b []string) (out []string) {
	for _, text := range a {
		if !slices.Contains(b, text) {
			out = append(out, text)
		}
	}
	return out
}

// Text writes the differences.
func (c *Comparison) Text(w io.Writer) error {
	b := &strings.Builder{}
	row := func(name string, now, then any) { fmt.Fprintf(b, "%-28s %-12v %v\n", name, now, then) }
	row("", "now", "then")
	row("moves", len(c.Now.Moves), len(c.Then.Moves))
	row("stranded VMs", len(c.Now.Stranded), len(c.Then.Stranded))
	row("broken before the moves", len(c.Now.Broken), len(c.Then.Broken))
	share := func(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) }
	row("demand lost before them", share(c.Now.Lost[0]), share(c.Then.Lost[0]))
	row("demand lost after them", share(c.Now.Lost[1]), share(c.Then.Lost[1]))
	only := func(title string, a, o *doctor.Report) {
		var lines []string
		for _, m := range a.Moves {
			if !slices.ContainsFunc(o.Moves, func(n doctor.Move) bool { return n.VM == m.VM && n.To == m.To }) {
				lines = append(lines, fmt.Sprintf("%s from %s to %s: %s", m.VM, m.From, m.To, m.Why))
			}
		}
		words.Section(b, title, lines)
	}
	only("Moves only now", c.Now, c.Then)
	only("Moves only then", c.Then, c.Now)
	words.Section(b, "Stranded then", doctor.Texts(c.Then.Stranded))
	var lines []string
	for _, e := range c.Entitled {
		lines = append(lines, e.String())
	}
	words.Section(b, "Entitled to, now -> then", lines)
	words.Section(b, "Warnings that disappear", onlyIn(warningTexts(c.Now), warningTexts(c.Then)))
	words.Section(b, "New warnings", onlyIn(warningTexts(c.Then), warningTexts(c.Now)))
	if c.Then.Quiet != c.Now.Quiet {
		words.Section(b, "Why nothing more moves then", []string{c.Then.Quiet})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func warningTexts(r *doctor.Report) (out []string) {
	for _, w := range r.Warnings {
		out = append(out, w.Kind+": "+w.Text)
	}
	return out
}
