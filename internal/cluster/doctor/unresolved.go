package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/doctor/words"
	"plimsoll/internal/cluster/place"
)

// Stranded is a VM that must leave its host and cannot, or that violates a hard constraint
// after the moves. Its reasons are those after the moves.
type Stranded struct {
	VM     string   `json:"vm"`
	Host   string   `json:"host"`
	Reason string   `json:"reason"`           // as for a move
	With   []string `json:"with,omitempty"`   // VMs that must-rules keep on its host
	Pinned string   `json:"pinned,omitempty"` // which of these VMs is pinned to its host
	// Hosts are the other hosts, each with its obstacle. A host whose cause is feasible has
	// room after the moves.
	Hosts []Alternative `json:"hosts,omitempty"`
	Text  string        `json:"text"`
}

// Remaining is a hard constraint that is violated after the moves, with the VMs that violate
// it, except stranded ones.
type Remaining struct {
	Text string     `json:"text"`
	VMs  []Stranded `json:"vms,omitempty"`
}

// mostUnresolved is the maximum number of VMs reported per overcommitted host.
const mostUnresolved = 3

// unresolved lists VMs that cannot move, and constraints that stay violated. The layout is
// that after the moves.
func (s indexedCluster) unresolved(plan advice.Plan) (stranded []Stranded, remaining []Remaining) {
	p := place.New(s.l, s.x)
	violations := cluster.Violations(s.c, s.l.Host)
	told := map[cluster.VMID]bool{}
	for _, o := range plan.Stranded {
		if says := s.mustLeave(o, violations); says != "" {
			told[o.VM] = true
			stranded = append(stranded, s.stuck(p, o.VM, string(o.Reason), says))
		}
	}
	for _, v := range violations {
		out := Remaining{Text: v.Text}
		for _, vm := range v.VMs {
			if !told[vm] && len(out.VMs) < mostUnresolved {
				out.VMs = append(out.VMs, s.stuck(p, vm, "", s.c.VMs[vm].Name+" stays on "+s.c.Hosts[v.Host].Name))
			}
		}
		remaining = append(remaining, out)
	}
	return stranded, remaining
}

// mustLeave is the beginning of the sentence on a stranded VM; empty if later moves of the
// plan repaired the cause.
func (s indexedCluster) mustLeave(o advice.Stranded, violations []cluster.Violation) string {
	h := s.l.Host(o.VM)
	if h == cluster.Nowhere {
		return ""
	}
	name, host := s.c.VMs[o.VM].Name, &s.c.Hosts[h]
	switch o.Reason {
	case advice.HostFailed:
		if host.State == cluster.Failed {
			return fmt.Sprintf("%s cannot restart: %s has failed", name, host.Name)
		}
	case advice.HostMaintenance:
		if host.State == cluster.Maintenance || host.State == cluster.Standby {
			return fmt.Sprintf("%s cannot leave %s, which is in %s", name, host.Name, host.State)
		}
	case advice.Reservation:
		if !s.l.Reserved(h).Fits(s.x.Capacity(h)) {
			return fmt.Sprintf("%s cannot leave %s, whose reservations exceed its capacity", name, host.Name)
		}
	case advice.MustRule:
		unit := s.l.Unit(o.VM)
		for _, v := range violations {
			if v.Rule != cluster.Nowhere && slices.ContainsFunc(v.VMs, func(w cluster.VMID) bool { return slices.Contains(unit, w) }) {
				return fmt.Sprintf("%s cannot leave %s to follow the rule %s", name, host.Name, s.c.Rules[v.Rule].Name)
			}
		}
	}
	return ""
}

// stuck explains why a VM cannot leave its host, with those that must stay with it.
func (s indexedCluster) stuck(p *place.Placer, v cluster.VMID, reason, says string) Stranded {
	own := s.l.Host(v)
	out := Stranded{VM: s.c.VMs[v].Name, Reason: reason}
	if own != cluster.Nowhere {
		out.Host = s.c.Hosts[own].Name
	}
	unit := s.l.Unit(v)
	tied, gone := "", reason == string(advice.HostFailed) || reason == string(advice.HostMaintenance)
	for i, w := range unit {
		if i > 0 {
			out.With = append(out.With, s.c.VMs[w].Name)
		}
		if s.c.VMs[w].Pinned && !gone && out.Pinned == "" {
			out.Pinned = s.c.VMs[w].Name
		}
		if s.c.VMs[w].Tied && reason != string(advice.HostFailed) {
			tied = s.c.VMs[w].Name
		}
	}
	if len(out.With) > 0 {
		says += ", with " + words.Named(out.With)
	}
	if tied != "" {
		out.Pinned = tied
		out.Text = fmt.Sprintf("%s: %s cannot be migrated", says, tied)
		return out
	}
	if out.Pinned != "" {
		out.Text = fmt.Sprintf("%s: %s is pinned", says, out.Pinned)
		return out
	}
	elsewhere := func(w cluster.VMID) bool { return s.l.Host(w) != own }
	split := slices.ContainsFunc(unit, elsewhere)
	verdicts := p.Leading(unit, len(s.c.Hosts), func(h cluster.HostID) bool { return h == own && !split })
	for _, verdict := range verdicts {
		if verdict.Obstacle.Check == cluster.Fine {
			out.Hosts = append(out.Hosts, Alternative{s.c.Hosts[verdict.Host].Name, "it can run it once the moves are made", &Cause{Kind: Feasible}})
			continue
		}
		out.Hosts = append(out.Hosts, s.obstacle(verdict, v))
	}
	out.Text = says + "; " + s.summary(verdicts, v)
	return out
}

// summary groups hosts by obstacle, the largest group first.
func (s indexedCluster) summary(verdicts []place.Verdict, of cluster.VMID) string {
	type group struct {
		hosts []string
		best  place.Verdict // for reservations, the host with most left
	}
	type key struct {
		check cluster.Check
		vm    cluster.VMID
		rule  cluster.RuleID
		index int32
		state cluster.HostState
	}
	groups := map[key]*group{}
	var order []*group
	for _, v := range verdicts {
		if v.Obstacle.Check == cluster.Fine {
			return fmt.Sprintf("%s can run it once the moves are made", s.c.Hosts[v.Host].Name)
		}
		k := key{v.Obstacle.Check, v.VM, v.Obstacle.Rule, v.Obstacle.Index, ""}
		if k.check == cluster.StateCheck {
			k.state = s.c.Hosts[v.Host].State
		}
		g := groups[k]
		if g == nil {
			g = &group{best: v}
			groups[k], order = g, append(order, g)
		}
		if g.hosts = append(g.hosts, s.c.Hosts[v.Host].Name); v.Obstacle.Have > g.best.Obstacle.Have {
			g.best = v
		}
	}
	if len(order) == 0 {
		return "there is no other host"
	}
	slices.SortStableFunc(order, func(a, b *group) int { return cmp.Compare(len(b.hosts), len(a.hosts)) })
	var says []string
	for _, g := range order {
		text := s.obstacle(g.best, of).Why
		if len(g.hosts) > 1 {
			switch g.best.Obstacle.Check {
			case cluster.CPUCheck, cluster.MemoryCheck, cluster.CoresCheck:
				text += " (" + s.c.Hosts[g.best.Host].Name + ", the most)"
			case cluster.ApartCheck, cluster.TogetherCheck, cluster.CountCheck:
				text += " (" + s.c.Hosts[g.best.Host].Name + ")"
			}
		}
		says = append(says, words.Named(g.hosts)+": "+text)
	}
	return "no other host can run it: " + strings.Join(says, "; ")
}

// Texts are the sentences of stranded VMs.
func Texts(list []Stranded) (out []string) {
	for _, s := range list {
		out = append(out, s.Text)
	}
	return out
}
