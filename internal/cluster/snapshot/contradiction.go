package snapshot

import (
	"encoding/binary"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
)

// conflict finds must-rules that cannot hold together, wherever VMs run. It follows rules that
// keep VMs together transitively.
type conflict struct {
	r      *reader
	leader []cluster.VMID // of the VMs that must run together, by VM
	bound  map[cluster.VMID][]cluster.RuleID
	by     []cluster.RuleID // a rule that made the VM follow its leader
}

// contradictions reports them, each at the position of the last of its rules.
func (r *reader) contradictions() {
	k := &conflict{r: r, leader: make([]cluster.VMID, len(r.c.VMs)), by: make([]cluster.RuleID, len(r.c.VMs)), bound: map[cluster.VMID][]cluster.RuleID{}}
	for i := range k.leader {
		k.leader[i], k.by[i] = cluster.VMID(i), cluster.Nowhere
	}
	k.each(func(id cluster.RuleID, rule *cluster.Rule) {
		if rule.Kind == cluster.Together {
			for _, v := range rule.VMs {
				k.join(v, rule.VMs[0], id)
			}
		}
	})
	k.each(func(id cluster.RuleID, rule *cluster.Rule) {
		switch {
		case rule.Kind == cluster.Apart:
			k.apart(id, rule)
		case rule.OfHosts() && len(rule.Hosts) > 0:
			for _, v := range rule.VMs {
				if to := k.lead(v); !endsWith(k.bound[to], id) {
					k.bound[to] = append(k.bound[to], id)
				}
			}
		}
	})
	k.unplaceable()
}

func endsWith(list []cluster.RuleID, id cluster.RuleID) bool {
	return len(list) > 0 && list[len(list)-1] == id
}

// each visits the must-rules.
func (k *conflict) each(visit func(cluster.RuleID, *cluster.Rule)) {
	for i := range k.r.c.Rules {
		if rule := &k.r.c.Rules[i]; rule.Must && !rule.Disabled {
			visit(cluster.RuleID(i), rule)
		}
	}
}

func (k *conflict) lead(v cluster.VMID) cluster.VMID {
	for k.leader[v] != v {
		k.leader[v] = k.leader[k.leader[v]]
		v = k.leader[v]
	}
	return v
}

func (k *conflict) join(a, b cluster.VMID, by cluster.RuleID) {
	if k.by[a] == cluster.Nowhere {
		k.by[a] = by
	}
	if k.by[b] == cluster.Nowhere {
		k.by[b] = by
	}
	if a, b = k.lead(a), k.lead(b); a != b {
		k.leader[max(a, b)] = min(a, b)
	}
}

// apart rejects a rule that separates VMs which must run together.
func (k *conflict) apart(id cluster.RuleID, rule *cluster.Rule) {
	first := map[cluster.VMID]cluster.VMID{}
	for _, v := range rule.VMs {
		to := k.lead(v)
		other, met := first[to]
		if !met {
			first[to] = v
			continue
		}
		c := k.r.c
		k.r.in.Complain(&k.r.rulesAt[id], "rule %s contradicts rule %s: %s and %s must run apart, but also together",
			rule.Name, c.Rules[k.by[v]].Name, c.VMs[other].Name, c.VMs[v].Name)
		return
	}
}

// unplaceable rejects VMs without a possible host. VMs of the same rules are checked once.
func (k *conflict) unplaceable() {
	done := map[string]bool{}
	for v := range k.leader {
		rules := k.bound[cluster.VMID(v)]
		if len(rules) == 0 {
			continue
		}
		var key []byte
		for _, id := range rules {
			key = binary.AppendVarint(key, int64(id))
		}
		if done[string(key)] {
			continue
		}
		done[string(key)] = true
		left := k.allowed(rules[0])
		for _, id := range rules[1:] {
			left = meet(left, k.allowed(id))
		}
		if !slices.ContainsFunc(left, func(w uint64) bool { return w != 0 }) {
			k.complain(cluster.VMID(v), rules)
		}
	}
}

// allowed is the set of hosts that a rule allows, one bit per host.
func (k *conflict) allowed(id cluster.RuleID) []uint64 {
	rule := &k.r.c.Rules[id]
	set := make([]uint64, (len(k.r.c.Hosts)+63)/64)
	for _, h := range rule.Hosts {
		set[h/64] |= 1 << (h % 64)
	}
	if rule.Kind == cluster.OffHosts {
		for h := range k.r.c.Hosts {
			set[h/64] ^= 1 << (h % 64)
		}
	}
	return set
}

func meet(a, b []uint64) []uint64 {
	for i := range a {
		a[i] &= b[i]
	}
	return a
}

// mostBlamed is the maximum number of rules that are compared in pairs and named in an error.
const mostBlamed = 16

// complain names the fewest rules that leave no host: one, two, or all.
func (k *conflict) complain(v cluster.VMID, rules []cluster.RuleID) {
	blamed := rules
	none := func(set []uint64) bool {
		return !slices.ContainsFunc(set, func(w uint64) bool { return w != 0 })
	}
search:
	for i, a := range rules[:min(len(rules), mostBlamed)] {
		if none(k.allowed(a)) {
			blamed = []cluster.RuleID{a}
			break
		}
		for _, b := range rules[:i] {
			if none(meet(k.allowed(a), k.allowed(b))) {
				blamed = []cluster.RuleID{b, a}
				break search
			}
		}
	}
	c := k.r.c
	names := make([]string, 0, mostBlamed)
	for _, id := range blamed[:min(len(blamed), mostBlamed)] {
		names = append(names, c.Rules[id].Name)
	}
	what := "rule " + names[0] + " leaves"
	if len(names) > 1 {
		what = "rules " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " leave"
	}
	who := c.VMs[v].Name
	if k.by[v] != cluster.Nowhere {
		who += " and those that must run with it by rule " + c.Rules[k.by[v]].Name
	}
	k.r.in.Complain(&k.r.rulesAt[blamed[len(blamed)-1]], "%s no host for %s", what, who)
}
