package snapshot

import (
	"plimsoll/internal/cluster"

	"plimsoll/internal/document"
)

var ruleKeys = []string{"name", "kind", "must", "disabled", "vms", "hosts"}

var ruleKinds = []string{string(cluster.Together), string(cluster.Apart), string(cluster.OnHosts), string(cluster.OffHosts)}

// mostTogether is how many VMs a rule between VMs may name: layouts count them
// by host in 16 bits.
const mostTogether = 32767

func (r *reader) allRules(n *document.Node) {
	var taken names
	for item := range r.in.Each(n, "rules") {
		if len(r.c.Rules) >= r.most.rules {
			r.in.Complain(item, "a cluster has at most %d rules", r.most.rules)
			return
		}
		f, named := r.item(item, "rule", ruleKeys)
		rule := cluster.Rule{
			Name: f.name, Kind: cluster.RuleKind(f.word("kind", "", ruleKinds)), Must: f.flag("must", false), Disabled: f.flag("disabled", false),
		}
		if f.get("kind") == nil {
			f.complain(f.at, "kind is missing: together, apart, on or off")
		}
		for _, v := range f.pick("vms", &r.vms, "vm") {
			rule.VMs = append(rule.VMs, cluster.VMID(v))
		}
		for _, h := range f.pick("hosts", &r.hosts, "host") {
			rule.Hosts = append(rule.Hosts, cluster.HostID(h))
		}
		if n := f.get("vms"); n == nil || n.Kind == document.List && len(n.Kids) == 0 {
			f.complain(f.at, "vms is missing: the VMs that it is for")
		}
		switch {
		case rule.OfHosts() && (f.get("hosts") == nil || f.get("hosts").Kind == document.List && len(f.get("hosts").Kids) == 0):
			f.complain(f.at, "hosts is missing: those that the VMs may run %s", rule.Kind)
		case !rule.OfHosts() && rule.Kind != "" && f.get("hosts") != nil:
			f.complain(f.get("hosts"), "hosts has no meaning in a rule of the kind %s", rule.Kind)
		case !rule.OfHosts() && len(rule.VMs) > mostTogether:
			f.complain(f.get("vms"), "%d VMs are more than the %d that such a rule may name", len(rule.VMs), mostTogether)
		}
		if !named {
			continue
		}
		if at, fresh := r.enter(&taken, &f, rule.Name); fresh {
			rule.Name = taken.list[at]
			r.c.Rules = append(r.c.Rules, rule)
			r.rulesAt = append(r.rulesAt, document.Node{Line: item.Line, Column: item.Column})
		}
	}
}
