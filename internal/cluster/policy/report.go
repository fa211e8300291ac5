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
	Doubts   []string       `json:"doubts,omitempty"` // probable mistakes in a policy
}

// PolicyCounts are the statuses of the objects of one policy.
type PolicyCounts struct {
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
	Unlisted   bool   `json:"unlisted,omitempty"` // objects name it, and the inventory does not list it
	Objects    Counts `json:"objects"`
}

// Finding is the common problem of objects of one policy on one datastore.
type Finding struct {
	Status    Status   `json:"status"`
	Policy    string   `json:"policy"`
	Datastore string   `json:"datastore,omitempty"` // empty when it is not known
	Reasons   []string `json:"reasons"`
	Misses    []Miss   `json:"misses,omitempty"` // rules that are not kept as the policy is now
	Elsewhere []string `json:"elsewhere"`        // datastores that would keep the policy
	Objects   []Member `json:"objects"`
}

// Member is one object of a finding.
type Member struct {
	VM     string `json:"vm"`
	Object string `json:"object"` // "home", or "disk" and its name
}

// Counts are how many VMs and objects have each status.
func (c *Checker) Counts() (vms, objects Counts) { return c.byVM.counts(), c.objects.counts() }

// Report sums up.
func (c *Checker) Report() *Report {
	r := &Report{VMs: c.byVM.counts(), Objects: c.objects.counts(), Policies: []PolicyCounts{}, Findings: []Finding{}}
	for i := range c.demands {
		r.Policies = append(r.Policies, PolicyCounts{c.demands[i].name, c.demands[i].generation, c.demands[i].absent, c.byPolicy[i].counts()})
	}
	slices.SortFunc(r.Policies, func(a, b PolicyCounts) int { return cmp.Compare(a.Name, b.Name) })
	keeping := make([][]string, len(c.demands))
	for i := range c.pairs {
		p := &c.pairs[i]
		found := c.findings(p)
		if len(found) > 0 && keeping[p.policy] == nil {
			keeping[p.policy] = c.keeping(p.policy)
		}
		for _, f := range found {
			f.Elsewhere = keeping[p.policy]
			r.Findings = append(r.Findings, f)
		}
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(a.Policy, b.Policy),
			cmp.Compare(a.Datastore, b.Datastore), slices.Compare(a.Reasons, b.Reasons))
	})
	r.Doubts = c.doubts()
	return r
}

// findings sorts the troubled objects of a pair by status and reason.
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
			f := Finding{Status: o.status, Policy: c.demands[p.policy].name, Reasons: c.reasons(o)}
			if p.store != nowhere {
				f.Datastore, f.Misses = c.offers[p.store].name, c.misses(p)
			}
			list = append(list, f)
		}
		list[i].Objects = append(list[i].Objects, Member{m.name, label(o.name)})
	}
	return list
}

// sorted are objects by the name of their VM, and in its order.
func (c *Checker) sorted(objects []place) []place {
	return slices.SortedFunc(slices.Values(objects), func(a, b place) int {
		return cmp.Or(strings.Compare(c.vms[a.vm].name, c.vms[b.vm].name), cmp.Compare(a.object, b.object))
	})
}

// keeping are the datastores that keep a policy.
func (c *Checker) keeping(policy int32) []string {
	list := []string{}
	for i := range c.offers {
		if c.demands[policy].weigh(&c.offers[i]) == Compliant {
			list = append(list, c.offers[i].name)
		}
	}
	slices.Sort(list)
	return list
}

// doubts are rules on a capability that no datastore has: they are as good as misspelt.
func (c *Checker) doubts() []string {
	offered := map[string]bool{}
	for i := range c.offers {
		if c.offers[i].silent && !c.offers[i].absent {
			return nil
		}
		for name := range c.offers[i].has {
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
					all = "is kept by each"
				}
				list = append(list, fmt.Sprintf("policy %s: no datastore offers %s, so that the rule that it %s %s%s",
					c.demands[i].name, rule.capability, rule.asked(), all, nearest(rule.capability, offered)))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
