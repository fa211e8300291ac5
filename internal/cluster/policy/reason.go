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
		return []string{fmt.Sprintf("version %d of the policy was applied, and the newest that is known is %d: is the list of policies up to date?", o.applied, now)}
	case o.applied < now:
		head := fmt.Sprintf("version %d of the policy was applied, and it is at %d: apply it again", o.applied, now)
		return append([]string{head}, c.afterwards(p)...)
	case p.status == NotApplicable:
		return []string{"its policy asks nothing"}
	case p.status == Compliant:
		return nil
	}
	return c.obstacles(p)
}

// afterwards is the state after a policy has been applied again.
func (c *catalog) afterwards(p *pair) []string {
	switch p.status {
	case NonCompliant:
		return append([]string{"the new version will not be kept there"}, c.obstacles(p)...)
	case Unknown:
		return append([]string{"whether the new version will be kept cannot be said"}, c.obstacles(p)...)
	case NotApplicable:
		return []string{"the new version asks nothing"}
	}
	return []string{"the new version will be kept where it is"}
}

// obstacles are the rules that a pair does not keep, in words.
func (c *catalog) obstacles(p *pair) []string {
	if p.store == nowhere {
		return []string{"on which datastore it is, is not known"}
	}
	o := &c.offers[p.store]
	if o.absent {
		return []string{unlisted("datastore", o.name, c.known.stores, func(id int32) bool { return c.offers[id].absent })}
	}
	if o.silent {
		return []string{o.name + " did not say what it offers"}
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
