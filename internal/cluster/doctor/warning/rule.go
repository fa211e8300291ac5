package warning

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/words"
)

const dropOne = "remove one of them, or make it a should-rule; plimsoll cluster what-if --drop-rule NAME shows the effect"

// tied groups VMs by the rules that keep them together; a group is led by its first VM.
type tied struct {
	leader []cluster.VMID
	by     []cluster.RuleID // the rule that binds a VM to the group; Nowhere for the first
}

func tie(c *cluster.Cluster) tied {
	t := tied{make([]cluster.VMID, len(c.VMs)), make([]cluster.RuleID, len(c.VMs))}
	for v := range c.VMs {
		t.leader[v], t.by[v] = cluster.VMID(v), cluster.Nowhere
	}
	for i := range c.Rules {
		r := &c.Rules[i]
		if r.Disabled || r.Kind != cluster.Together {
			continue
		}
		for _, v := range r.VMs {
			if t.by[v] == cluster.Nowhere {
				t.by[v] = cluster.RuleID(i)
			}
			if a, b := t.lead(v), t.lead(r.VMs[0]); a != b {
				t.leader[max(a, b)] = min(a, b)
			}
		}
	}
	return t
}

func (t tied) lead(v cluster.VMID) cluster.VMID {
	for t.leader[v] != v {
		v = t.leader[v]
	}
	return v
}

// ruleConflicts finds rules that cannot hold together, wherever VMs run.
func ruleConflicts(s indexedCluster) (out []Warning) {
	c, t := s.c, tie(s.c)
	hosts := make([][]cluster.RuleID, len(c.VMs)) // rules about hosts, by leader
	for i := range c.Rules {
		r := &c.Rules[i]
		switch {
		case r.Disabled:
		case r.Kind == cluster.Apart:
			out = append(out, partedTies(c, t, cluster.RuleID(i))...)
		case r.OfHosts():
			for _, v := range r.VMs {
				if to := t.lead(v); len(hosts[to]) == 0 || hosts[to][len(hosts[to])-1] != cluster.RuleID(i) {
					hosts[to] = append(hosts[to], cluster.RuleID(i))
				}
			}
		}
	}
	told := map[string]bool{}
	for v, rules := range hosts {
		if w, found := noHostLeft(c, t, cluster.VMID(v), rules); found && !told[w.Text] {
			told[w.Text] = true
			out = append(out, w)
		}
	}
	return out
}

// partedTies finds VMs that a rule keeps apart and others keep together.
func partedTies(c *cluster.Cluster, t tied, id cluster.RuleID) []Warning {
	r := &c.Rules[id]
	first := map[cluster.VMID]cluster.VMID{}
	for _, v := range r.VMs {
		to := t.lead(v)
		other, met := first[to]
		if !met {
			first[to] = v
			continue
		}
		by := &c.Rules[t.by[v]]
		return []Warning{{Kind: "rule conflict", Text: fmt.Sprintf("rule %s keeps %s and %s together, and rule %s keeps them apart: %s", by.Name, c.VMs[other].Name, c.VMs[v].Name, r.Name, cannot(by, r)), Do: dropOne}}
	}
	return nil
}

func cannot(a, b *cluster.Rule) string {
	switch {
	case a.Must && b.Must:
		return "they cannot both hold"
	case a.Must:
		return "the second, a should-rule, can never hold"
	case b.Must:
		return "the first, a should-rule, can never hold"
	}
	return "one of them can never hold"
}

// noHostLeft finds rules about hosts that together leave none: pairs of them if two are
// enough.
func noHostLeft(c *cluster.Cluster, t tied, v cluster.VMID, rules []cluster.RuleID) (Warning, bool) {
	if len(rules) < 2 {
		return Warning{}, false
	}
	all := leaves(c, rules[0])
	for _, id := range rules[1:] {
		meet(all, leaves(c, id))
	}
	if slices.Contains(all, true) {
		return Warning{}, false
	}
	who := c.VMs[v].Name
	if t.by[v] != cluster.Nowhere {
		who += " and those that run with it by rule " + c.Rules[t.by[v]].Name
	}
	for i, b := range rules {
		for _, a := range rules[:i] {
			both := leaves(c, a)
			meet(both, leaves(c, b))
			if !slices.Contains(both, true) {
				x, y := &c.Rules[a], &c.Rules[b]
				return Warning{Kind: "rule conflict", Text: fmt.Sprintf("rules %s and %s leave no host for %s: %s", x.Name, y.Name, who, cannot(x, y)), Do: dropOne}, true
			}
		}
	}
	var names []string
	for _, id := range rules {
		names = append(names, c.Rules[id].Name)
	}
	return Warning{Kind: "rule conflict", Text: fmt.Sprintf("rules %s together leave no host for %s", strings.Join(names, ", "), who), Do: dropOne}, true
}

// leaves reports for each host whether a rule allows it.
func leaves(c *cluster.Cluster, id cluster.RuleID) []bool {
	r := &c.Rules[id]
	set := make([]bool, len(c.Hosts))
	for h := range set {
		_, named := slices.BinarySearch(r.Hosts, cluster.HostID(h))
		set[h] = named == (r.Kind == cluster.OnHosts)
	}
	return set
}

func meet(a, b []bool) {
	for i := range a {
		a[i] = a[i] && b[i]
	}
}

// unsatisfiable finds rules that cannot hold with the usable hosts.
func unsatisfiable(s indexedCluster) (out []Warning) {
	c, usable := s.c, 0
	for h := range c.Hosts {
		if c.Hosts[h].Usable() {
			usable++
		}
	}
	for i := range c.Rules {
		r := &c.Rules[i]
		switch {
		case r.Disabled:
		case r.Kind == cluster.Apart && len(r.VMs) > usable:
			out = append(out, Warning{Kind: "rule", Text: fmt.Sprintf("rule %s keeps %d VMs apart, but only %s %s usable: %d of the VMs must share", r.Name, len(r.VMs), words.Count(usable, "host"), words.Verb(usable, "is", "are"), len(r.VMs)-usable),
				Do: "add hosts or split the rule; a must-rule that cannot hold strands VMs"})
		case r.Kind == cluster.Apart:
			if n := seats(s, r); n < len(r.VMs) {
				out = append(out, Warning{Kind: "rule", Text: fmt.Sprintf("rule %s keeps %d VMs apart, but size, networks, datastores and rules about hosts leave a separate host for only %d of them", r.Name, len(r.VMs), n),
					Do: "allow them on more hosts, or split the rule"})
			}
		case r.Kind == cluster.OnHosts:
			out = append(out, gone(c, r)...)
		}
	}
	return out
}

// gone warns of a rule without a usable host.
func gone(c *cluster.Cluster, r *cluster.Rule) []Warning {
	var names []string
	for _, h := range r.Hosts {
		if c.Hosts[h].Usable() {
			return nil
		}
		names = append(names, c.Hosts[h].Name)
	}
	return []Warning{{Kind: "rule", Text: fmt.Sprintf("rule %s allows %s only, and none of them is usable", r.Name, words.Named(names)),
		Do: "make one of them usable, or name more hosts in the rule"}}
}

// mostSeated limits the VMs of a rule for which hosts are matched.
const mostSeated = 256

// seats is the number of VMs of a rule that can each have a usable host of their own, by
// constraints that never change: a maximum matching, grown by augmenting paths.
func seats(s indexedCluster, r *cluster.Rule) (n int) {
	if len(r.VMs) > mostSeated {
		return len(r.VMs)
	}
	sits := make([]int, len(s.c.Hosts)) // VM on the host, by number in the rule from 1
	for i := range r.VMs {
		tried := make([]bool, len(sits))
		var seat func(i int) bool
		seat = func(i int) bool {
			for h := range sits {
				id := cluster.HostID(h)
				if tried[h] || !s.c.Hosts[h].Usable() || !s.x.Allowed(r.VMs[i], id) {
					continue
				}
				tried[h] = true
				if sits[h] == 0 || seat(sits[h]-1) {
					sits[h] = i + 1
					return true
				}
			}
			return false
		}
		if seat(i) {
			n++
		}
	}
	return n
}
