package doctor

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
)

// why is the cause of a move at an index of the plan. The layout is that before its step. A VM
// that moves only because a rule keeps it with another has that rule as its cause.
func (t *moveDescriber) why(at int, step []advice.Move) (string, *Cause) {
	m := t.moves[at]
	if m.From == cluster.Nowhere || t.holds(m) {
		return t.own(at)
	}
	for _, id := range t.scene.x.Rules(m.VM) {
		rule := &t.scene.c.Rules[id]
		if rule.Kind != cluster.Together || !rule.Must {
			continue
		}
		for _, o := range step {
			if o.VM != m.VM && slices.Contains(rule.VMs, o.VM) {
				name := t.scene.c.VMs[o.VM].Name
				return fmt.Sprintf("the rule %s keeps it together with %s, which moves with it", rule.Name, name), &Cause{Kind: WithOther, Rule: rule.Name, Other: name}
			}
		}
		for _, v := range rule.VMs {
			if v != m.VM && t.scene.l.Host(v) == m.To {
				name, to := t.scene.c.VMs[v].Name, t.scene.c.Hosts[m.To].Name
				return fmt.Sprintf("the rule %s keeps it together with %s, which runs on %s", rule.Name, name, to), &Cause{Kind: WithOther, Rule: rule.Name, Other: name, At: to}
			}
		}
	}
	return t.own(at)
}

// holds reports whether the reason of a move concerns the VM itself.
func (t *moveDescriber) holds(m advice.Move) bool {
	switch m.Reason {
	case advice.HostFailed:
		return t.scene.c.Hosts[m.From].State == cluster.Failed
	case advice.HostMaintenance:
		return t.scene.c.Hosts[m.From].State == cluster.Maintenance || t.scene.c.Hosts[m.From].State == cluster.Standby
	case advice.MustRule, advice.ShouldRule:
		return m.Rule != cluster.Nowhere && slices.Contains(t.scene.c.Rules[m.Rule].VMs, m.VM) && len(cluster.RuleViolations(t.scene.c, m.Rule, t.scene.l.Host)) > 0
	case advice.Reservation:
		return !t.scene.l.Reserved(m.From).Fits(t.scene.x.Capacity(m.From))
	}
	return true
}

// own is the cause by the reason of the move alone.
func (t *moveDescriber) own(at int) (string, *Cause) {
	m, from := t.moves[at], ""
	if m.From != cluster.Nowhere {
		from = t.scene.c.Hosts[m.From].Name
	}
	switch m.Reason {
	case advice.HostFailed:
		return from + " has failed", &Cause{Kind: HostState, At: from, Object: string(t.scene.c.Hosts[m.From].State)}
	case advice.HostMaintenance:
		state := string(t.scene.c.Hosts[m.From].State)
		return fmt.Sprintf("%s is in %s and must be empty", from, state), &Cause{Kind: HostState, At: from, Object: state}
	case advice.MustRule:
		return "the rule " + t.scene.c.Rules[m.Rule].Name + " must hold", &Cause{Kind: ForRule, Rule: t.scene.c.Rules[m.Rule].Name}
	case advice.ShouldRule:
		return "the rule " + t.scene.c.Rules[m.Rule].Name + " should hold", &Cause{Kind: ForRule, Rule: t.scene.c.Rules[m.Rule].Name}
	case advice.Reservation:
		return "reservations on " + from + " exceed its capacity", &Cause{Kind: Reserved, At: from}
	case advice.MakeRoom:
		return t.roomFor(at)
	case advice.FairCPU, advice.FairMemory:
		return t.loaded(m)
	}
	return string(m.Reason), &Cause{Kind: Unknown}
}

// loaded is the load of the host that a move relieves.
func (t *moveDescriber) loaded(m advice.Move) (string, *Cause) {
	from := t.scene.c.Hosts[m.Relieves].Name
	load := loadOf(t.scene.l.Demand(m.Relieves), t.scene.x.Capacity(m.Relieves))
	if m.From != m.Relieves {
		return "an exchange of VMs relieves " + from, &Cause{Kind: Exchange, At: from, Other: t.scene.c.VMs[m.Partner].Name}
	}
	if m.Reason == advice.FairMemory {
		return fmt.Sprintf("%s is %.0f %% full by memory", from, 100*load.Memory), &Cause{Kind: HostLoad, At: from, Load: load}
	}
	return fmt.Sprintf("%s is %.0f %% full", from, 100*load.worst()), &Cause{Kind: HostLoad, At: from, Load: load}
}

// roomFor names the VM that a move makes room for: the next one that moves to its host.
func (t *moveDescriber) roomFor(at int) (string, *Cause) {
	host, own := t.moves[at].From, t.moves[at].VM
	for _, chained := range []bool{false, true} { // other VMs that only make room may replace it as well
		for _, m := range t.moves[at+1:] {
			if (m.Reason == advice.MakeRoom) == chained && m.To == host && m.VM != own {
				name, to := t.scene.c.VMs[m.VM].Name, t.scene.c.Hosts[host].Name
				return fmt.Sprintf("it makes room on %s for %s", to, name), &Cause{Kind: ForRoom, Other: name, At: to}
			}
		}
	}
	return "it makes room for another VM", &Cause{Kind: ForRoom}
}
