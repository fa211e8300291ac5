package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Report is the report for an operator. Lists are sorted by name, findings by severity, so
// equal statuses make equal reports.
type Report struct {
	VMs      Counts         `json:"vms"` // by their worst object
	Objects  Counts         `json:"objects"`
	Policies []PolicyCounts `json:"policies"`
	Findings []Finding      `json:"findings"`
	Doubts   []string       `json:"doubts,omitempty"` // rules that are probably misspelt
}

// PolicyCounts are the statuses of the objects of one policy.
type PolicyCounts struct {
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
	Unlisted   bool   `json:"unlisted,omitempty"` // objects name it, but the inventory does not list it
	Objects    Counts `json:"objects"`
}

// Finding is the common problem of objects of one policy on one datastore.
type Finding struct {
	Status    Status   `json:"status"`
	Policy    string   `json:"policy"`
	Datastore string   `json:"datastore,omitempty"` // empty if unknown
	Reasons   []string `json:"reasons"`
	Misses    []Miss   `json:"misses,omitempty"` // violated rules of the current policy
	Elsewhere []string `json:"elsewhere"`        // datastores that satisfy the policy
	Objects   []Member `json:"objects"`
}

// Member is one object of a finding.
type Member struct {
	VM     string `json:"vm"`
	Object string `json:"object"` // "home", or "disk" and its name
}

// VMStatus is the status of a VM and of its objects.
type VMStatus struct {
	Name    string
	Status  Status
	Objects []ObjectStatus // the home first
}

// ObjectStatus is the status of an object.
type ObjectStatus struct {
	Name      string // of a disk; empty for a home
	Policy    string
	Datastore string
	Status    Status
	Misses    []Miss // rules of the current policy
}

// VM is the status of a VM, and whether it exists.
func (c *Checker) VM(name string) (VMStatus, bool) {
	id, found := c.catalog.known.vms[name]
	if !found {
		return VMStatus{}, false
	}
	m := &c.vms[id]
	v := VMStatus{Name: m.name, Status: m.status, Objects: make([]ObjectStatus, len(m.objects))}
	for i := range m.objects {
		o := &m.objects[i]
		s := ObjectStatus{Name: o.name, Status: o.status}
		if o.store != nowhere {
			s.Datastore = c.catalog.offers[o.store].name
		}
		if o.pair != nowhere {
			p := &c.catalog.pairs[o.pair]
			s.Policy, s.Misses = c.catalog.demands[p.policy].name, c.catalog.misses(p)
		}
		v.Objects[i] = s
	}
	return v, true
}

// Misses are the rules of a policy that a datastore violates, and whether it satisfies the
// policy. Both must be listed.
func (c *Checker) Misses(policy, datastore string) (misses []Miss, satisfied bool) {
	p, listed := c.catalog.known.policies[policy]
	d, has := c.catalog.known.stores[datastore]
	if !listed || !has || c.catalog.demands[p].absent {
		return nil, false
	}
	switch c.catalog.weigh(p, d) {
	case Compliant, NotApplicable:
		return nil, true
	}
	return c.catalog.demands[p].misses(&c.catalog.offers[d]), false
}

// Counts are the numbers of VMs and objects by status.
func (c *Checker) Counts() (vms, objects Counts) { return c.byVM.counts(), c.objects.counts() }

// Report is the report on the current statuses.
func (c *Checker) Report() *Report {
	r := &Report{VMs: c.byVM.counts(), Objects: c.objects.counts(), Policies: []PolicyCounts{}, Findings: []Finding{}}
	for i := range c.catalog.demands {
		d := &c.catalog.demands[i]
		if counts := c.countsOf(i); !d.absent || counts.All() > 0 {
			r.Policies = append(r.Policies, PolicyCounts{d.name, d.generation, d.absent, counts})
		}
	}
	slices.SortFunc(r.Policies, func(a, b PolicyCounts) int { return cmp.Compare(a.Name, b.Name) })
	keeping := make([][]string, len(c.catalog.demands))
	for i := range c.catalog.pairs {
		p := &c.catalog.pairs[i]
		found := c.findings(p)
		if len(found) > 0 && keeping[p.policy] == nil {
			keeping[p.policy] = c.catalog.keeping(p.policy)
		}
		for _, f := range found {
			f.Elsewhere = keeping[p.policy]
			r.Findings = append(r.Findings, f)
		}
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(a.Policy, b.Policy),
			cmp.Compare(a.Datastore, b.Datastore), slices.Compare(a.Reasons, b.Reasons),
			cmp.Compare(a.Objects[0].VM, b.Objects[0].VM), cmp.Compare(a.Objects[0].Object, b.Objects[0].Object))
	})
	r.Doubts = c.catalog.doubts()
	return r
}

// countsOf are those of the objects of a policy.
func (c *Checker) countsOf(policy int) Counts {
	if policy >= len(c.byPolicy) {
		return Counts{}
	}
	return c.byPolicy[policy].counts()
}

// findings groups the objects of a pair that need attention by status and reason.
func (c *Checker) findings(p *pair) []Finding {
	type trouble struct {
		status  Status
		applied int64
	}
	at := map[trouble]int{}
	var list []Finding
	for _, where := range c.sorted(p.objects) {
		m := &c.vms[where.vm]
		o := &m.objects[where.object]
		if o.status <= Compliant {
			continue
		}
		key := trouble{o.status, o.applied}
		i, known := at[key]
		if !known {
			i = len(list)
			at[key] = i
			f := Finding{Status: o.status, Policy: c.catalog.demands[p.policy].name, Reasons: c.catalog.reasons(o)}
			if p.store != nowhere {
				f.Datastore, f.Misses = c.catalog.offers[p.store].name, c.catalog.misses(p)
			}
			list = append(list, f)
		}
		list[i].Objects = append(list[i].Objects, Member{m.name, label(o.name)})
	}
	return list
}

// sorted are objects by VM name, and in the order of the VM.
func (c *Checker) sorted(objects []objectIndex) []objectIndex {
	return slices.SortedFunc(slices.Values(objects), func(a, b objectIndex) int {
		return cmp.Or(strings.Compare(c.vms[a.vm].name, c.vms[b.vm].name), cmp.Compare(a.object, b.object))
	})
}

// keeping are the datastores that satisfy a policy.
func (c *catalog) keeping(policy int32) []string {
	list := []string{}
	for i := range c.offers {
		if c.demands[policy].weigh(&c.offers[i]) == Compliant {
			list = append(list, c.offers[i].name)
		}
	}
	slices.Sort(list)
	return list
}

// doubts are rules on a capability that no datastore has, which is probably misspelt.
func (c *catalog) doubts() []string {
	offered := map[string]bool{}
	for i := range c.offers {
		if c.offers[i].silent && !c.offers[i].absent {
			return nil
		}
	}
	for name, stores := range c.offered {
		if stores > 0 {
			offered[name] = true
		}
	}
	list := []string{}
	for i := range c.demands {
		for _, s := range c.demands[i].sets {
			for _, rule := range s.rules {
				if offered[rule.capability] {
					continue
				}
				all := "cannot be judged"
				if rule.is == Not {
					all = "is satisfied by every datastore"
				}
				list = append(list, fmt.Sprintf("policy %s: no datastore offers %s, so the rule that it %s %s%s",
					c.demands[i].name, rule.capability, rule.asked(), all, nearest(rule.capability, offered)))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
