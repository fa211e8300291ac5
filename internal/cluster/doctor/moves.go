package doctor

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/place"
)

// moveDescriber describes the moves of a plan step by step, in a layout that it changes.
type moveDescriber struct {
	scene   indexedCluster
	placer  *place.Placer
	moves   []advice.Move
	options advice.Options
}

// tell converts the moves of a plan, each with its cause and the alternative hosts at that
// point. The layout is afterwards that after the moves.
func (s indexedCluster) tell(plan advice.Plan, o advice.Options) (out []Move) {
	t := moveDescriber{s, place.New(s.l, s.x), plan.Moves, o}
	for i := 0; i < len(t.moves); {
		n := i + 1
		for n < len(t.moves) && t.moves[n].Number == t.moves[i].Number {
			n++
		}
		out = append(out, t.step(i, n)...)
		i = n
	}
	return out
}

// step converts the moves from i to n, which are simultaneous.
func (t *moveDescriber) step(i, n int) []Move {
	step := t.moves[i:n]
	out := make([]Move, len(step))
	for k, m := range step {
		to := Move{Step: m.Number, VM: t.scene.c.VMs[m.VM].Name, To: t.scene.c.Hosts[m.To].Name, Reason: string(m.Reason), Evidence: evidence(t.scene.c, t.scene.x, m), Effect: effect(t.scene.c, m)}
		if m.From != cluster.Nowhere {
			to.From = t.scene.c.Hosts[m.From].Name
		}
		if to.Why, to.Cause = t.why(i+k, step); m.Note != "" {
			to.Why += "; " + m.Note
		}
		if !m.Reason.Mandatory() && m.Value.Stable > 0 {
			to.Value = m.Value.String()
		}
		out[k] = to
	}
	for _, m := range step {
		t.scene.l.Move(m.VM, m.To)
	}
	for k, m := range step {
		out[k].Alternatives = t.alternatives(step, m)
	}
	return out
}

// mostAlternatives is the maximum number of other hosts listed per move.
const mostAlternatives = 3

// chosen is the host that VMs moved to together, with which others are compared.
type chosen struct {
	unit []cluster.VMID
	host cluster.HostID
	load *Load // of the host with them
	asks cluster.Resources
}

// alternatives are the other hosts for the VMs of a step that moved to the same host as
// one of them. The layout is that after the step.
func (t *moveDescriber) alternatives(step []advice.Move, m advice.Move) (out []Alternative) {
	ch := chosen{host: m.To, load: loadOf(t.scene.l.Demand(m.To), t.scene.x.Capacity(m.To))}
	for _, o := range step {
		if o.To == m.To {
			ch.unit = append(ch.unit, o.VM)
			ch.asks = ch.asks.Plus(t.scene.x.Demand(o.VM))
		}
	}
	skip := func(h cluster.HostID) bool {
		return h == m.To || slices.ContainsFunc(step, func(o advice.Move) bool { return o.To == m.To && o.From == h })
	}
	for _, v := range t.placer.Leading(ch.unit, mostAlternatives, skip) {
		fine := v.Obstacle.Check == cluster.Fine
		switch {
		case !fine:
			out = append(out, t.scene.obstacle(v, m.VM))
		case !m.Reason.Mandatory() && t.options.Left != nil && t.options.Left(m.VM, v.Host):
			out = append(out, Alternative{t.scene.c.Hosts[v.Host].Name, "it left that host recently", &Cause{Kind: LeftBefore}})
		default:
			out = append(out, t.contrast(v.Host, ch))
		}
	}
	return out
}

// contrast is the reason against a host that can run the VM: a should-rule that it would
// violate, or its load relative to the chosen one's.
func (t *moveDescriber) contrast(h cluster.HostID, ch chosen) Alternative {
	there := loadOf(t.scene.l.Demand(h).Plus(ch.asks), t.scene.x.Capacity(h))
	cause := &Cause{Kind: Fuller, Load: there, Chosen: ch.load}
	name := t.scene.c.Hosts[h].Name
	here := t.scene.broken(ch.unit, ch.host)
	for _, id := range t.scene.broken(ch.unit, h) {
		if !slices.Contains(here, id) {
			cause.Kind, cause.Rule = SoftRule, t.scene.c.Rules[id].Name
			return Alternative{name, "it would violate the rule " + cause.Rule + ", which should hold", cause}
		}
	}
	if there.worst() <= ch.load.worst() {
		cause.Kind = NoFuller
	}
	return Alternative{name, there.against(ch.load, t.scene.c.Hosts[ch.host].Name), cause}
}

// obstacle is the reason why a VM, or one that must stay with it, cannot move to a host.
func (s indexedCluster) obstacle(v place.Verdict, of cluster.VMID) Alternative {
	cause, text := obstructed(s.c, v.Obstacle, v.Host), v.Obstacle.Text(s.c, v.Host)
	if v.VM != of {
		cause.VM = s.c.VMs[v.VM].Name
		text = cause.VM + ", which must stay with it: " + text
	}
	return Alternative{s.c.Hosts[v.Host].Name, text, cause}
}

// broken are the should-rules that VMs would violate on a host. The layout is afterwards
// as before.
func (s indexedCluster) broken(unit []cluster.VMID, h cluster.HostID) (rules []cluster.RuleID) {
	from := make([]cluster.HostID, len(unit))
	for i, v := range unit {
		from[i] = s.l.Host(v)
		s.l.Move(v, h)
	}
	for i, v := range unit {
		rules = slices.AppendSeq(rules, s.l.BrokenRules(v, h))
		defer s.l.Move(v, from[i])
	}
	return rules
}
