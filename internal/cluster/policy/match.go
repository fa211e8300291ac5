package policy

import (
	"cmp"
	"math"
	"slices"
)

// tagSpace is the namespace in which a datastore's tags are capabilities.
const tagSpace = "tag."

// span is a value prepared for comparison: texts, or a range of numbers.
type span struct {
	texts    []string // sorted; nil for numbers
	from, to int64
}

func (v *Value) span() span {
	switch {
	case v.Text != "":
		return span{texts: []string{v.Text}}
	case v.Set != nil:
		texts := slices.Clone(v.Set)
		slices.Sort(texts)
		return span{texts: texts}
	case v.Number != nil:
		return span{from: *v.Number, to: *v.Number}
	}
	s := span{from: math.MinInt64, to: math.MaxInt64}
	if v.From != nil {
		s.from = *v.From
	}
	if v.To != nil {
		s.to = *v.To
	}
	return s
}

// comparable reports whether both are texts or both are numbers.
func (s *span) comparable(o *span) bool { return (s.texts == nil) == (o.texts == nil) }

// meets reports whether two comparable values have a value in common.
func (s *span) meets(o *span) bool {
	if s.texts == nil {
		return s.from <= o.to && o.from <= s.to
	}
	for i, j := 0, 0; i < len(s.texts) && j < len(o.texts); {
		switch cmp.Compare(s.texts[i], o.texts[j]) {
		case 0:
			return true
		case -1:
			i++
		default:
			j++
		}
	}
	return false
}

// offer is a datastore, prepared for comparison.
type offer struct {
	name       string
	generation int64
	silent     bool
	absent     bool // objects name it, but the inventory does not list it: silent as well
	has        map[string]span
}

func newOffer(d *Datastore) offer {
	o := offer{name: d.Name, generation: d.Generation, silent: d.Silent, has: make(map[string]span, len(d.Capabilities)+len(d.Tags))}
	for i := range d.Capabilities {
		o.has[d.Capabilities[i].Name] = d.Capabilities[i].span()
	}
	for category, tags := range d.Tags {
		v := Value{Set: tags}
		o.has[tagSpace+category] = v.span()
	}
	return o
}

// demand is a policy, prepared for comparison.
type demand struct {
	name       string
	generation int64
	sets       []demandSet
	absent     bool // objects name it, but the inventory does not list it
}

type demandSet struct {
	name  string
	rules []condition
}

type condition struct {
	capability string
	is         Operator
	want       span
	nowhere    bool // no datastore of the inventory has the capability
}

func newDemand(p *Policy) demand {
	d := demand{name: p.Name, generation: p.Generation, sets: make([]demandSet, len(p.Sets))}
	for i := range p.Sets {
		set := &p.Sets[i]
		rules := make([]condition, len(set.Rules))
		for k := range set.Rules {
			rules[k] = newCondition(&set.Rules[k])
		}
		d.sets[i] = demandSet{set.Name, rules}
	}
	return d
}

func newCondition(r *Rule) condition {
	return condition{capability: r.Capability, is: r.Is, want: r.span()}
}

// outcome is the result of a rule, a set or a policy, from bad to good: the worst if all must
// hold, the best if any must.
type outcome uint8

const (
	broken outcome = iota
	undecided
	kept
)

func (c *condition) weigh(o *offer) outcome {
	if o.silent {
		return undecided
	}
	has, found := o.has[c.capability]
	var meets bool
	if !found && c.nowhere && c.is != Not {
		return undecided // the name may be misspelt, or no datastore reports the capability
	}
	if found {
		if !c.want.comparable(&has) {
			return undecided
		}
		meets = c.want.meets(&has)
	}
	if meets == (c.is != Not) {
		return kept
	}
	return broken
}

func (s *demandSet) weigh(o *offer) outcome {
	worst := kept
	for i := range s.rules {
		worst = min(worst, s.rules[i].weigh(o))
	}
	return worst
}

// weigh is the status of an object with the current policy on a datastore; nil is an unknown
// one.
func (d *demand) weigh(o *offer) Status {
	if d.absent {
		return Unknown
	}
	if len(d.sets) == 0 {
		return NotApplicable
	}
	if o == nil {
		return Unknown
	}
	best := broken
	for i := range d.sets {
		best = max(best, d.sets[i].weigh(o))
	}
	return [...]Status{broken: NonCompliant, undecided: Unknown, kept: Compliant}[best]
}
