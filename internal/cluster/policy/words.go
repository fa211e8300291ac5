package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// words is a value as text.
func (s *span) words() string {
	switch {
	case s.texts != nil:
		quoted := make([]string, len(s.texts))
		for i, t := range s.texts {
			quoted[i] = strconv.Quote(t)
		}
		return strings.Join(quoted, ", ")
	case s.from == s.to:
		return strconv.FormatInt(s.from, 10)
	case s.from == math.MinInt64 && s.to == math.MaxInt64:
		return "any number"
	case s.from == math.MinInt64:
		return fmt.Sprintf("at most %d", s.to)
	case s.to == math.MaxInt64:
		return fmt.Sprintf("at least %d", s.from)
	}
	return fmt.Sprintf("%d to %d", s.from, s.to)
}

// asked describes the requirement of a rule.
func (c *condition) asked() string {
	verb := "must be "
	if c.is == Not {
		verb = "must not be "
	}
	if len(c.want.texts) > 1 || c.is == OneOf {
		return verb + "one of " + c.want.words()
	}
	return verb + c.want.words()
}

// offered describes the datastore's value of a rule's capability.
func (c *condition) offered(o *offer) string {
	has, found := o.has[c.capability]
	switch {
	case o.silent:
		return "reported no capabilities"
	case !found:
		return "does not offer it"
	case !c.want.comparable(&has):
		return "offers " + has.words() + ", which cannot be compared"
	}
	return "offers " + has.words()
}

// Miss is a rule that a datastore violates, or whose result is unknown.
type Miss struct {
	Set        string `json:"set,omitempty"` // index and name of the set, if the policy has several
	Capability string `json:"capability"`
	Asked      string `json:"asked"`   // "must be 2"
	Offered    string `json:"offered"` // "offers 0 to 1"
	Undecided  bool   `json:"undecided,omitempty"`
}

// misses are the rules that are not satisfied, in the order of the policy.
func (d *demand) misses(o *offer) []Miss {
	var list []Miss
	for i := range d.sets {
		s := &d.sets[i]
		for k := range s.rules {
			c := &s.rules[k]
			out := c.weigh(o)
			if out == kept {
				continue
			}
			m := Miss{Capability: c.capability, Asked: c.asked(), Offered: c.offered(o), Undecided: out == undecided}
			if len(d.sets) > 1 {
				m.Set = fmt.Sprintf("set %d", i+1)
				if s.name != "" {
					m.Set += " (" + s.name + ")"
				}
			}
			list = append(list, m)
		}
	}
	return list
}
