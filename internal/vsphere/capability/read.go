package capability

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster/policy"
)

// mostSets is the maximum number of rule sets of a policy. The alternatives of its
// capabilities multiply.
const mostSets = 256

// Policy converts a storage policy. A requirement in an unknown form becomes a rule by which
// no datastore can be judged.
func Policy(p *pbm.PbmCapabilityProfile) policy.Policy {
	made := policy.Policy{Name: Readable(p.Name), Generation: max(0, p.GenerationId)}
	if p.Constraints == nil {
		return made
	}
	if _, bare := p.Constraints.(*pbm.PbmCapabilityConstraints); bare {
		return made
	}
	constraints, ok := p.Constraints.(*pbm.PbmCapabilitySubProfileConstraints)
	if !ok {
		made.Sets = []policy.RuleSet{unread(fmt.Sprintf("%T", p.Constraints))}
		return made
	}
	for i := range constraints.SubProfiles {
		sub := &constraints.SubProfiles[i]
		alternatives := sets(sub)
		if slices.ContainsFunc(alternatives, func(s policy.RuleSet) bool { return len(s.Rules) == 0 }) {
			made.Sets = nil // no requirement, which every datastore satisfies
			return made
		}
		made.Sets = append(made.Sets, alternatives...)
	}
	if len(made.Sets) > mostSets {
		made.Sets = []policy.RuleSet{unread("more than " + strconv.Itoa(mostSets) + " rule sets")}
	}
	return made
}

// unread is a rule set by which no datastore can be judged.
func unread(what string) policy.RuleSet {
	return policy.RuleSet{Rules: []policy.Rule{{Capability: "unread.constraint", Is: policy.Equals, Value: policy.Value{Text: Readable(what)}}}}
}

// sets are the rule sets of a subprofile, of which one must be satisfied. All of its
// capabilities must be satisfied, and one constraint of each capability.
func sets(sub *pbm.PbmCapabilitySubProfile) []policy.RuleSet {
	name := ""
	if sub.Name != "" {
		name = Readable(sub.Name)
	}
	list := []policy.RuleSet{{Name: name}}
	for i := range sub.Capability {
		var more []policy.RuleSet
		for _, so := range list {
			for k := range sub.Capability[i].Constraint {
				set := policy.RuleSet{Name: name, Rules: slices.Clone(so.Rules)}
				for _, r := range rules(sub.Capability[i].Id, &sub.Capability[i].Constraint[k]) {
					if !slices.ContainsFunc(set.Rules, func(o policy.Rule) bool { return same(&o, &r) }) {
						set.Rules = append(set.Rules, r)
					}
				}
				more = append(more, set)
			}
		}
		if len(more) > mostSets {
			return []policy.RuleSet{unread("more than " + strconv.Itoa(mostSets) + " alternatives")}
		}
		if len(more) > 0 {
			list = more
		}
	}
	return list
}

// same reports whether two rules require the same, in any form.
func same(a, b *policy.Rule) bool {
	return a.Capability == b.Capability && (a.Is == policy.Not) == (b.Is == policy.Not) && slices.Equal(texts(&a.Value), texts(&b.Value)) && ends(&a.Value) == ends(&b.Value)
}

func texts(v *policy.Value) []string {
	if v.Text != "" {
		return []string{v.Text}
	}
	return slices.Sorted(slices.Values(v.Set))
}

func ends(v *policy.Value) [2]int64 {
	e := [2]int64{math.MinInt64, math.MaxInt64}
	for i, n := range []*int64{v.From, v.To} {
		if n != nil {
			e[i] = *n
		}
		if v.Number != nil {
			e[i] = *v.Number
		}
	}
	return e
}

func rules(of pbm.PbmCapabilityMetadataUniqueId, c *pbm.PbmCapabilityConstraintInstance) []policy.Rule {
	list := make([]policy.Rule, len(c.PropertyInstance))
	for i := range c.PropertyInstance {
		p := &c.PropertyInstance[i]
		r := policy.Rule{Capability: Name(of, p.Id), Value: read(p.Value)}
		switch {
		case p.Operator == negation:
			r.Is = policy.Not
		case r.Set != nil:
			r.Is = policy.OneOf
		case r.From != nil || r.To != nil:
			r.Is = policy.Within
		default:
			r.Is = policy.Equals
		}
		list[i] = r
	}
	return list
}

// Name is the policy checker's name of a property of a capability.
func Name(of pbm.PbmCapabilityMetadataUniqueId, property string) string {
	if of.Namespace == tagSpace {
		return tagPrefix + Readable(of.Id)
	}
	name := Readable(of.Namespace) + "." + Readable(of.Id)
	if property != of.Id && property != "" {
		name += "." + Readable(property)
	}
	if strings.HasPrefix(name, tagPrefix) || strings.HasPrefix(name, ".") {
		return "capability." + strings.TrimPrefix(name, ".")
	}
	return name
}

// Capabilities converts the capabilities of a datastore. Of duplicates, the first counts.
func Capabilities(p *pbm.PbmCapabilityProfile) []policy.Capability {
	constraints, ok := p.Constraints.(*pbm.PbmCapabilitySubProfileConstraints)
	if !ok {
		return nil
	}
	var list []policy.Capability
	for i := range constraints.SubProfiles {
		for _, c := range constraints.SubProfiles[i].Capability {
			for k := range c.Constraint {
				for _, p := range c.Constraint[k].PropertyInstance {
					name := Name(c.Id, p.Id)
					if !strings.HasPrefix(name, tagPrefix) && !slices.ContainsFunc(list, func(o policy.Capability) bool { return o.Name == name }) {
						list = append(list, policy.Capability{Name: name, Value: read(p.Value)})
					}
				}
			}
		}
	}
	return list
}

// read converts a value. Anything but a text, an integer, a set or a range becomes a text.
func read(v types.AnyType) policy.Value {
	if n, ok := number(v); ok {
		return policy.Value{Number: &n}
	}
	switch v := v.(type) {
	case string:
		return policy.Value{Text: Readable(v)}
	case pbm.PbmCapabilityDiscreteSet:
		return set(v.Values)
	case *pbm.PbmCapabilityDiscreteSet:
		return set(v.Values)
	case pbm.PbmCapabilityRange:
		return between(v)
	case *pbm.PbmCapabilityRange:
		return between(*v)
	case pbm.PbmCapabilityTimeSpan:
		return span(v)
	case *pbm.PbmCapabilityTimeSpan:
		return span(*v)
	}
	return policy.Value{Text: Readable(fmt.Sprint(v))}
}

func set(values []types.AnyType) policy.Value {
	var texts []string
	for _, v := range values {
		if text := Readable(fmt.Sprint(v)); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if texts == nil {
		return policy.Value{Text: "an empty set"}
	}
	return policy.Value{Set: texts}
}

func between(r pbm.PbmCapabilityRange) policy.Value {
	from, isFrom := number(r.Min)
	to, isTo := number(r.Max)
	if !isFrom || !isTo || from > to {
		return policy.Value{Text: Readable(fmt.Sprintf("%v to %v", r.Min, r.Max))}
	}
	v := policy.Value{From: &from, To: &to}
	if from == math.MinInt64 && to != math.MaxInt64 {
		v.From = nil
	}
	if to == math.MaxInt64 && from != math.MinInt64 {
		v.To = nil
	}
	return v
}

// span converts a time to seconds.
func span(t pbm.PbmCapabilityTimeSpan) policy.Value {
	unit, known := map[string]int64{"SECONDS": 1, "MINUTES": 60, "HOURS": 3600, "DAYS": 86400, "WEEKS": 604800}[strings.ToUpper(t.Unit)]
	if !known {
		return policy.Value{Text: Readable(fmt.Sprint(t.Value, " ", t.Unit))}
	}
	seconds := int64(t.Value) * unit
	return policy.Value{Number: &seconds}
}

func number(v types.AnyType) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int32:
		return int64(n), true
	case int16:
		return int64(n), true
	case int8:
		return int64(n), true
	case uint8:
		return int64(n), true
	}
	return 0, false
}

// Readable is a text that reports can contain.
func Readable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
	if text == "" {
		return "(empty)"
	}
	return text
}
