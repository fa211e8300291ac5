package cluster

import (
	"fmt"
	"iter"
	"slices"
)

// Obstacle is the first failed check of a VM on a host. It holds numbers only, so it is cheap
// to make; Text formats it.
type Obstacle struct {
	Check Check
	Need  int64
	Have  int64
	Rule  RuleID
	Other VMID   // the conflicting VM
	At    HostID // its host
	Index int32  // of a network or a datastore
}

// Check is a condition for a VM to run on a host.
type Check uint8

// The checks, in order.
const (
	Fine Check = iota
	StateCheck
	NetworkCheck
	DatastoreCheck
	CoresCheck
	HostRuleCheck
	ApartCheck
	TogetherCheck
	CPUCheck
	MemoryCheck
	CountCheck
)

var checkNames = [...]string{"", "state", "network", "datastore", "cores", "host rule", "apart", "together", "cpu reservation", "memory reservation", "machines"}

// String is the name of the check.
func (k Check) String() string { return checkNames[k] }

// Obstacle is why a VM may not run on a host with its present VMs; Check is Fine if it may. A
// VM never conflicts with itself.
func (l *Layout) Obstacle(v VMID, h HostID) Obstacle {
	host := &l.c.Hosts[h]
	if !host.Usable() {
		return Obstacle{Check: StateCheck}
	}
	if !l.index.Allowed(v, h) {
		return fixedObstacle(l.c, &l.c.VMs[v], l.index.wheres[v], h)
	}
	return l.obstacleNow(v, h)
}

// Passing is why a VM may not run on a host temporarily, on its way from another: rules about
// hosts that it violates on that other host are ignored.
func (l *Layout) Passing(v VMID, from, h HostID) Obstacle {
	if !l.c.Hosts[h].Usable() {
		return Obstacle{Check: StateCheck}
	}
	var kept []RuleID
	for _, r := range l.index.wheres[v] {
		if rule := &l.c.Rules[r]; containsHost(rule.Hosts, from) != (rule.Kind == OffHosts) {
			kept = append(kept, r)
		}
	}
	if o := fixedObstacle(l.c, &l.c.VMs[v], kept, h); o.Check != Fine {
		return o
	}
	return l.obstacleNow(v, h)
}

// obstacleNow is why the present VMs of a host keep a VM from running there.
func (l *Layout) obstacleNow(v VMID, h HostID) Obstacle {
	host := &l.c.Hosts[h]
	here := l.host[v] == h
	for _, r := range l.index.rules[v] {
		if o := l.ruleObstacle(v, h, r, here); o.Check != Fine && l.c.Rules[r].Must {
			return o
		}
	}
	if here {
		return Obstacle{}
	}
	needs, has, all := l.index.reserved[v], l.reserved[h], l.index.capacity[h]
	switch {
	case has.CPU+needs.CPU > all.CPU:
		return Obstacle{Check: CPUCheck, Need: needs.CPU, Have: all.CPU - has.CPU}
	case has.Memory+needs.Memory > all.Memory:
		return Obstacle{Check: MemoryCheck, Need: needs.Memory, Have: all.Memory - has.Memory}
	case host.MostVMs > 0 && len(l.on[h]) >= host.MostVMs:
		return Obstacle{Check: CountCheck, Have: int64(host.MostVMs)}
	}
	return Obstacle{}
}

// ruleObstacle checks a rule between VMs for a VM on a host.
func (l *Layout) ruleObstacle(v VMID, h HostID, r RuleID, here bool) Obstacle {
	others := int(l.members[r][h])
	if here {
		others--
	}
	switch rule := &l.c.Rules[r]; {
	case rule.Kind == Apart && others > 0:
		return Obstacle{Check: ApartCheck, Rule: r, Other: l.partner(v, r, func(o HostID) bool { return o == h }), At: h}
	case rule.Kind == Together && others == 0:
		if other := l.partner(v, r, func(o HostID) bool { return o != Nowhere && o != h }); other >= 0 {
			return Obstacle{Check: TogetherCheck, Rule: r, Other: other, At: l.host[other]}
		}
	}
	return Obstacle{}
}

// partner is another VM of a rule whose host meets a condition; -1 if there is none.
func (l *Layout) partner(v VMID, r RuleID, such func(HostID) bool) VMID {
	for _, other := range l.c.Rules[r].VMs {
		if other != v && such(l.host[other]) {
			return other
		}
	}
	return -1
}

// Broken counts the should-rules that a VM on a host would violate.
func (l *Layout) Broken(v VMID, h HostID) (n int) {
	for range l.BrokenRules(v, h) {
		n++
	}
	return n
}

// BrokenRules are the should-rules that a VM on a host would violate.
func (l *Layout) BrokenRules(v VMID, h HostID) iter.Seq[RuleID] {
	return func(yield func(RuleID) bool) {
		here := l.host[v] == h
		for _, r := range l.index.rules[v] {
			if !l.c.Rules[r].Must && l.ruleObstacle(v, h, r, here).Check != Fine && !yield(r) {
				return
			}
		}
		for _, i := range l.index.wheres[v] {
			if r := &l.c.Rules[i]; !r.Must && containsHost(r.Hosts, h) == (r.Kind == OffHosts) && !yield(i) {
				return
			}
		}
	}
}

// Unit lists the running VMs that must-rules keep on one host with v, v first.
func (l *Layout) Unit(v VMID) []VMID {
	unit := []VMID{v}
	for i := 0; i < len(unit); i++ { // it grows during the loop
		for _, id := range l.index.rules[unit[i]] {
			rule := &l.c.Rules[id]
			if rule.Kind != Together || !rule.Must {
				continue
			}
			for _, w := range rule.VMs {
				if l.host[w] != Nowhere && !slices.Contains(unit, w) {
					unit = append(unit, w)
				}
			}
		}
	}
	return unit
}

// Text is the sentence for an operator.
func (o Obstacle) Text(c *Cluster, h HostID) string {
	host := &c.Hosts[h]
	switch o.Check {
	case StateCheck:
		return "the host " + host.State.Said()
	case NetworkCheck:
		return fmt.Sprintf("the host does not have the network %s", c.Networks[o.Index])
	case DatastoreCheck:
		return fmt.Sprintf("the host does not reach the datastore %s", c.Datastores[o.Index])
	case CoresCheck:
		return fmt.Sprintf("%d vCPUs are more than the host's %d threads", o.Need, o.Have)
	case HostRuleCheck:
		return fmt.Sprintf("the rule %s does not allow it", c.Rules[o.Rule].Name)
	case ApartCheck:
		return fmt.Sprintf("the rule %s keeps it apart from %s, which runs there", c.Rules[o.Rule].Name, c.VMs[o.Other].Name)
	case TogetherCheck:
		return fmt.Sprintf("the rule %s keeps it together with %s, which runs on %s", c.Rules[o.Rule].Name, c.VMs[o.Other].Name, c.Hosts[o.At].Name)
	case CPUCheck:
		return fmt.Sprintf("it reserves %d MHz, but only %d MHz are unreserved there", o.Need, max(0, o.Have))
	case MemoryCheck:
		return fmt.Sprintf("it reserves %s of memory, but only %s are unreserved there", MiB(o.Need), MiB(max(0, o.Have)))
	case CountCheck:
		return fmt.Sprintf("it already runs its maximum of %d VMs", o.Have)
	}
	return "nothing prevents it"
}

// MiB is an amount of memory as text.
func MiB(bytes int64) string {
	const mib, gib, tib = 1 << 20, 1 << 30, 1 << 40
	if bytes >= 9999.5*gib {
		return fmt.Sprintf("%.4g TiB", float64(bytes)/tib)
	}
	if bytes >= 10*gib {
		return fmt.Sprintf("%.4g GiB", float64(bytes)/gib)
	}
	return fmt.Sprintf("%d MiB", bytes/mib)
}
