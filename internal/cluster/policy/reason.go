package policy

import (
	"fmt"
	"strings"
)

// reason says why an object has its status.
func (c *Checker) reason(o *object) string {
	if o.pair == nowhere {
		return "it has no policy"
	}
	p := &c.pairs[o.pair]
	now := c.demands[p.policy].generation
	switch {
	case o.applied > now:
		return fmt.Sprintf("version %d of the policy was applied, and the newest that is known is %d: is the list of policies up to date?", o.applied, now)
	case o.applied < now:
		return fmt.Sprintf("version %d of the policy was applied, and it is at %d: apply it again; %s", o.applied, now, c.afterwards(p))
	case p.status == NotApplicable:
		return "its policy asks nothing"
	case p.status == Compliant:
		return ""
	}
	return c.obstacles(p)
}

// afterwards says what will be when a policy has been applied again.
func (c *Checker) afterwards(p *pair) string {
	switch p.status {
	case NonCompliant:
		return "the new version will not be kept: " + c.obstacles(p)
	case Unknown:
		return "whether the new version will be kept cannot be said: " + c.obstacles(p)
	case NotApplicable:
		return "the new version asks nothing"
	}
	return "the new version will be kept where it is"
}

// obstacles are the rules that a pair does not keep, in words.
func (c *Checker) obstacles(p *pair) string {
	if p.store == nowhere {
		return "on which datastore it is, is not known"
	}
	o := &c.offers[p.store]
	if o.silent {
		return o.name + " did not say what it offers"
	}
	var b strings.Builder
	for i, m := range c.misses(p) {
		if i > 0 {
			b.WriteString("; ")
		}
		if m.Set != "" {
			b.WriteString(m.Set + ": ")
		}
		fmt.Fprintf(&b, "%s %s, and %s %s", m.Capability, m.Asked, o.name, m.Offered)
	}
	return b.String()
}

func (c *Checker) misses(p *pair) []Miss {
	if p.store == nowhere || p.status == Compliant {
		return nil
	}
	return c.demands[p.policy].misses(&c.offers[p.store])
}
