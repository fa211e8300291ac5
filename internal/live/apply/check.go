package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

// ready waits for the control plane, and returns why the next change cannot be made; empty if
// it can.
func (r *run) ready(ctx context.Context, i int) (surprise string) {
	var now *view
	wait, cancel := context.WithTimeout(ctx, r.a.Patience)
	defer cancel()
	err := r.eye.until(wait, func(v *view) bool { now = v; return !v.blind(r.plan.Changes[i]) })
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the control plane was lost, and did not return within %s", r.a.Patience)
	case err != nil:
		return err.Error()
	}
	if c := r.plan.Changes[i]; c.Action == live.Reshape {
		return r.a.unshaped(ctx, c)
	}
	k := check{run: r, now: now, hosts: map[string]*cluster.Host{}, next: r.plan.Changes[i], rest: r.order.left(), flying: map[string]bool{}}
	for j := range r.flying {
		k.flying[r.plan.Changes[j].VM] = true
	}
	for h := range now.c.Hosts {
		k.hosts[now.c.Hosts[h].Name] = &now.c.Hosts[h]
	}
	return k.all()
}

// check looks for unexpected events before a change.
type check struct {
	run   *run
	now   *view
	hosts map[string]*cluster.Host
	next  Change
	rest  []Change // that have not begun, including the next one
	// flying are the VMs in migration.
	flying map[string]bool
}

func (k *check) all() (surprise string) {
	if k.next.Action == live.Maintain {
		return k.maintenance(k.next)
	}
	for _, look := range []func() string{k.vms, k.target, k.others, k.rules, k.constraints} {
		if surprise = look(); surprise != "" {
			return surprise
		}
	}
	return ""
}

// vms names a VM of the plan that is not on its planned host, or not off.
func (k *check) vms() string {
	seen := map[string]bool{}
	for _, c := range k.rest {
		if !c.places() || seen[c.VM] || k.flying[c.VM] {
			continue
		}
		seen[c.VM] = true
		switch at, runs := k.now.at[c.VM]; {
		case !runs && !k.exists(c.VM):
			return fmt.Sprintf("%s no longer exists", c.VM)
		case !runs && c.From != "":
			return fmt.Sprintf("%s no longer runs", c.VM)
		case runs && c.From == "":
			return fmt.Sprintf("%s is on %s, but the plan starts it%s", c.VM, at, k.who(c.VM))
		case at != c.From:
			return fmt.Sprintf("%s is on %s, not on %s%s: is another balancer active?", c.VM, at, c.From, k.who(c.VM))
		}
	}
	return ""
}

func (k *check) exists(vm string) bool {
	return slices.ContainsFunc(k.now.c.VMs, func(v cluster.VM) bool { return v.Name == vm })
}

// who names the originator of a VM's move, if known.
func (k *check) who(vm string) string {
	if by := k.now.by[vm]; by != "" {
		return ": moved by " + by
	}
	return ""
}

// target is why the host of the next move cannot be used.
func (k *check) target() string {
	to := k.next.To
	switch h := k.hosts[to]; {
	case to == "": // the VM is to be shut down
	case h == nil:
		return fmt.Sprintf("the host %s is no longer part of the cluster", to)
	case !h.Usable():
		return fmt.Sprintf("the host %s %s", to, h.State.Said())
	}
	return ""
}

// others names a VM that somebody else moved from or to a host that the rest of the plan
// needs.
func (k *check) others() string {
	needed := map[string]bool{}
	for _, c := range k.rest {
		needed[c.From], needed[c.To] = true, true
	}
	for i := range k.now.c.VMs { // in order, so that the same VM is always named
		vm := k.now.c.VMs[i].Name
		is, was := k.now.at[vm], k.run.expected[vm]
		if !k.flying[vm] && is != was && is != "" && was != "" && (needed[is] || needed[was]) {
			return fmt.Sprintf("%s, which is not in the plan, moved from %s to %s%s: is another balancer active?", vm, was, is, k.who(vm))
		}
	}
	return ""
}

// rules names a changed rule of a VM that is still to move.
func (k *check) rules() string {
	moving := map[string]bool{}
	for _, c := range k.rest {
		moving[c.VM] = true
	}
	was, is := ruleTexts(k.run.plan.Seen, moving), ruleTexts(k.now.c, moving)
	for i := range k.run.plan.Seen.Rules {
		if name := k.run.plan.Seen.Rules[i].Name; was[name] != is[name] {
			return fmt.Sprintf("the rule %s has changed since the plan was made", name)
		}
	}
	for i := range k.now.c.Rules {
		if name := k.now.c.Rules[i].Name; was[name] != is[name] {
			return fmt.Sprintf("the rule %s is new or has changed since the plan was made", name)
		}
	}
	return ""
}

// ruleTexts are the contents of rules of some VMs, by name.
func ruleTexts(c *cluster.Cluster, of map[string]bool) map[string]string {
	out := map[string]string{}
	for i := range c.Rules {
		r := &c.Rules[i]
		if !slices.ContainsFunc(r.VMs, func(v cluster.VMID) bool { return of[c.VMs[v].Name] }) {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %t %t", r.Kind, r.Must, r.Disabled)
		for _, v := range r.VMs {
			fmt.Fprintf(&b, " %q", c.VMs[v].Name)
		}
		for _, h := range r.Hosts {
			fmt.Fprintf(&b, " on %q", c.Hosts[h].Name)
		}
		out[r.Name] += b.String()
	}
	return out
}

// constraints names a hard constraint that would be violated after the moves in progress and
// the rest of their steps and of this one.
func (k *check) constraints() string {
	before := violated(k.now.c, nil)
	after := violations(k.now.c, k.run.order.open(k.next.Step))
	count := map[string]int{}
	for _, v := range after {
		key := constraint(k.now.c, v)
		count[key]++
		allowed := max(before[key], k.run.plan.Violated[key])
		worse := v.Rule == cluster.Nowhere && k.now.c.Hosts[v.Host].Name == k.next.To && k.run.plan.Violated[key] == 0
		if count[key] > allowed || worse {
			return fmt.Sprintf("it would violate a hard constraint: %s", v.Text)
		}
	}
	return ""
}

// maintenance is why a host cannot enter or exit maintenance.
func (k *check) maintenance(c Change) string {
	h := k.hosts[c.Host]
	switch {
	case h == nil:
		return fmt.Sprintf("the host %s is no longer part of the cluster", c.Host)
	case c.Enter && h.State != cluster.Connected && h.State != cluster.Quarantined, !c.Enter && h.State != cluster.Maintenance:
		return fmt.Sprintf("the host %s %s", c.Host, h.State.Said())
	case !c.Enter:
		return ""
	}
	for i := range k.now.c.VMs {
		if vm := k.now.c.VMs[i].Name; k.now.at[vm] == c.Host {
			return fmt.Sprintf("%s runs on %s, which must be empty to enter maintenance%s", vm, c.Host, k.who(vm))
		}
	}
	return ""
}

// violations are those of a cluster after moves of VMs.
func violations(c *cluster.Cluster, moved map[string]string) []cluster.Violation {
	hosts := map[string]cluster.HostID{}
	for h := range c.Hosts {
		hosts[c.Hosts[h].Name] = cluster.HostID(h)
	}
	return cluster.Violations(c, func(v cluster.VMID) cluster.HostID {
		if to, moves := moved[c.VMs[v].Name]; moves {
			if h, known := hosts[to]; known {
				return h
			}
		}
		return c.VMs[v].Host
	})
}

// constraint is the name of a hard constraint.
func constraint(c *cluster.Cluster, v cluster.Violation) string {
	if v.Rule != cluster.Nowhere {
		return "rule " + c.Rules[v.Rule].Name
	}
	return "host " + c.Hosts[v.Host].Name
}

// violated counts the violations of each hard constraint.
func violated(c *cluster.Cluster, moved map[string]string) map[string]int {
	out := map[string]int{}
	for _, v := range violations(c, moved) {
		out[constraint(c, v)]++
	}
	return out
}
