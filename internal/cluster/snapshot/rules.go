package snapshot

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot/entry"
	"plimsoll/internal/document"
)

var ruleKeys = []string{"name", "kind", "must", "disabled", "vms", "hosts"}

var ruleKinds = []string{string(cluster.Together), string(cluster.Apart), string(cluster.OnHosts), string(cluster.OffHosts)}

// mostTogether is the maximum number of VMs in a rule between VMs: layouts count them per host
// in 16 bits.
const mostTogether = 32767

func (r *reader) allRules(n *document.Node) {
	kind := entry.Kind{Name: "rule", Keys: ruleKeys}
	taken := entry.Names{Kind: "rule"}
	for item := range r.in.Each(n, "rules") {
		if len(r.c.Rules) >= r.most.rules {
			r.in.Complain(item, "a cluster has at most %d rules", r.most.rules)
			return
		}
		f, named := kind.Open(r.in, item)
		rule := cluster.Rule{
			Name: f.Name, Kind: cluster.RuleKind(f.Word("kind", "", ruleKinds)), Must: f.Flag("must", false), Disabled: f.Flag("disabled", false),
		}
		if f.Get("kind") == nil {
			f.Complain(f.At, "kind is missing: together, apart, on or off")
		}
		for _, v := range r.vms.Pick(&f, "vms") {
			rule.VMs = append(rule.VMs, cluster.VMID(v))
		}
		for _, h := range r.hosts.Pick(&f, "hosts") {
			rule.Hosts = append(rule.Hosts, cluster.HostID(h))
		}
		if f.Lacks("vms") {
			f.Complain(f.At, "vms is missing: the VMs of the rule")
		}
		switch {
		case rule.OfHosts() && f.Lacks("hosts"):
			f.Complain(f.At, "hosts is missing: the hosts of a rule of the kind %s", rule.Kind)
		case !rule.OfHosts() && rule.Kind != "" && f.Get("hosts") != nil:
			f.Complain(f.Get("hosts"), "a rule of the kind %s takes no hosts", rule.Kind)
		case !rule.OfHosts() && len(rule.VMs) > mostTogether:
			f.Complain(f.Get("vms"), "%d VMs are more than the %d that such a rule may name", len(rule.VMs), mostTogether)
		}
		if !named {
			continue
		}
		if at, fresh := taken.Enter(&f, rule.Name); fresh {
			rule.Name = taken.List[at]
			r.c.Rules = append(r.c.Rules, rule)
			r.rulesAt = append(r.rulesAt, document.Node{Line: item.Line, Column: item.Column})
		}
	}
}
