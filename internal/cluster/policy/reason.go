package policy

import "fmt"

// reasons explain the status of an object, one for each relevant rule.
func (c *catalog) reasons(o *object) []string {
	if o.pair == nowhere {
		return []string{"it has no policy"}
	}
	p := &c.pairs[o.pair]
	now := c.demands[p.policy].generation
	switch {
	case c.demands[p.policy].absent:
		return []string{unlisted("policy", c.demands[p.policy].name, c.known.policies, func(id int32) bool { return c.demands[id].absent })}
	case o.applied > now:
		return []string{fmt.Sprintf("version %d of the policy was applied, but the newest known version is %d: update the list of policies", o.applied, now)}
	case o.applied < now:
		head := fmt.Sprintf("version %d of the policy was applied, but the current version is %d: apply it again", o.applied, now)
		return append([]string{head}, c.afterwards(p)...)
	case p.status == NotApplicable:
		return []string{"its policy has no requirements"}
	case p.status == Compliant:
		return nil
	}
	return c.obstacles(p)
}

// afterwards is the status after the policy is applied again.
func (c *catalog) afterwards(p *pair) []string {
	switch p.status {
	case NonCompliant:
		return append([]string{"its datastore does not satisfy the new version"}, c.obstacles(p)...)
	case Unknown:
		return append([]string{"whether its datastore satisfies the new version is unknown"}, c.obstacles(p)...)
	case NotApplicable:
		return []string{"the new version has no requirements"}
	}
	return []string{"its datastore satisfies the new version"}
}

// obstacles are the rules that a pair violates, as text.
func (c *catalog) obstacles(p *pair) []string {
	if p.store == nowhere {
		return []string{"its datastore is unknown"}
	}
	o := &c.offers[p.store]
	if o.absent {
		return []string{unlisted("datastore", o.name, c.known.stores, func(id int32) bool { return c.offers[id].absent })}
	}
	if o.silent {
		return []string{o.name + " reported no capabilities"}
	}
	var list []string
	for _, m := range c.misses(p) {
		line := fmt.Sprintf("%s %s, and %s %s", m.Capability, m.Asked, o.name, m.Offered)
		if m.Set != "" {
			line = m.Set + ": " + line
		}
		list = append(list, line)
	}
	return list
}

func (c *catalog) misses(p *pair) []Miss {
	if p.store == nowhere || p.status == Compliant {
		return nil
	}
	return c.demands[p.policy].misses(&c.offers[p.store])
}
