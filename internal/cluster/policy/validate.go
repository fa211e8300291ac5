package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostComplaints is the maximum number of reported errors; further ones are counted.
const mostComplaints = 20

// Validate reports errors with their positions: missing and duplicate names, values that are
// empty or do not suit their operator, negative generations.
func (inv *Inventory) Validate() error {
	_, err := inv.check()
	return err
}

// names are indexes in the lists of an inventory, by name.
type names struct{ stores, policies, vms map[string]int32 }

func (inv *Inventory) check() (names, error) {
	var c complaints
	known := names{
		stores: make(map[string]int32, len(inv.Datastores)), policies: make(map[string]int32, len(inv.Policies)),
		vms: make(map[string]int32, len(inv.VMs)),
	}
	for i := range inv.Datastores {
		c.at("datastores", i, inv.Datastores[i].Name)
		c.unique(known.stores)
		c.datastore(&inv.Datastores[i])
	}
	for i := range inv.Policies {
		c.at("policies", i, inv.Policies[i].Name)
		c.unique(known.policies)
		c.policy(&inv.Policies[i])
	}
	for i := range inv.VMs {
		c.at("vms", i, inv.VMs[i].Name)
		c.unique(known.vms)
		c.vm(&inv.VMs[i])
	}
	return known, c.err()
}

// complaints collects the errors of the current item.
type complaints struct {
	list []error
	more int

	kind  string // of the list that contains the item
	index int
	name  string
}

func (c *complaints) at(kind string, index int, name string) {
	c.kind, c.index, c.name = kind, index, name
}

func (c *complaints) add(format string, args ...any) {
	if len(c.list) == mostComplaints {
		c.more++
		return
	}
	place := fmt.Sprintf("%s %q", c.kind, c.name)
	if c.index >= 0 {
		place = fmt.Sprintf("%s[%d] %q", c.kind, c.index, c.name)
	}
	c.list = append(c.list, fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...)))
}

func (c *complaints) err() error {
	if c.more > 0 {
		c.list = append(c.list, fmt.Errorf("and %d more errors", c.more))
	}
	return errors.Join(c.list...)
}

// unique registers the item's name among those of its kind.
func (c *complaints) unique(seen map[string]int32) {
	if first, twice := seen[c.name]; twice {
		c.add("duplicate name, also of %s[%d]", c.kind, first)
		return
	}
	seen[c.name] = int32(c.index)
}

// named validates names and generations.
func (c *complaints) named(generation int64) {
	c.plain("name", c.name)
	if generation < 0 {
		c.add("generation %d is negative", generation)
	}
}

// plain checks a text that appears in reports.
func (c *complaints) plain(what, text string) {
	if text == "" {
		c.add("%s is missing", what)
	} else if !readable(text) {
		c.add("%s %q contains unprintable characters", what, text)
	}
}

func readable(text string) bool {
	ascii := true
	for i := range len(text) {
		if b := text[i]; b >= utf8.RuneSelf {
			ascii = false
		} else if b < ' ' || b == 0x7f {
			return false
		}
	}
	return ascii || utf8.ValidString(text) && strings.IndexFunc(text, unprintable) < 0
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func (c *complaints) datastore(d *Datastore) {
	c.named(d.Generation)
	seen := map[string]bool{}
	for i := range d.Capabilities {
		k := &d.Capabilities[i]
		c.capability(k.Name)
		if strings.HasPrefix(k.Name, tagSpace) {
			c.add("capability %q is in the namespace of tags: list it under tags", k.Name)
		}
		if seen[k.Name] {
			c.add("capability %q is listed twice: put its values into one set or range", k.Name)
		}
		seen[k.Name] = true
		c.value("capability "+fmt.Sprintf("%q", k.Name), &k.Value)
	}
	for _, category := range slices.Sorted(maps.Keys(d.Tags)) {
		c.plain("category of tags", category)
		c.set(fmt.Sprintf("tags of %q", category), d.Tags[category])
	}
}

// capability checks that a name has a namespace.
func (c *complaints) capability(name string) {
	c.plain("name of a capability", name)
	if space, rest, dot := strings.Cut(name, "."); name != "" && (!dot || space == "" || rest == "") {
		c.add("capability %q has no namespace: write NAMESPACE.NAME", name)
	}
}

// value checks that there is exactly one value, and that it is not empty.
func (c *complaints) value(what string, v *Value) {
	kinds := 0
	for _, given := range []bool{v.Text != "", v.Set != nil, v.Number != nil, v.From != nil || v.To != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		c.add("%s has %d values: give one of text, set, number, or from and to", what, kinds)
	}
	if v.Text != "" {
		c.plain("text of "+what, v.Text)
	}
	if v.Set != nil {
		c.set("set of "+what, v.Set)
	}
	if v.From != nil && v.To != nil && *v.From > *v.To {
		c.add("%s has an empty range: from %d is above to %d", what, *v.From, *v.To)
	}
}

func (c *complaints) set(what string, set []string) {
	if len(set) == 0 {
		c.add("%s is empty: list its values, or omit it", what)
	}
	seen := make(map[string]bool, len(set))
	for _, text := range set {
		c.plain("text in "+what, text)
		if seen[text] {
			c.add("%s has %q twice", what, text)
		}
		seen[text] = true
	}
}

func (c *complaints) policy(p *Policy) {
	c.named(p.Generation)
	for i := range p.Sets {
		set := &p.Sets[i]
		if set.Name != "" {
			c.plain("name of a set", set.Name)
		}
		if len(set.Rules) == 0 {
			c.add("sets[%d] has no rules, so every datastore would match; omit all sets to require nothing", i)
		}
		seen := map[string]bool{}
		for k := range set.Rules {
			r := &set.Rules[k]
			c.rule(fmt.Sprintf("sets[%d].rules[%d] on %q", i, k, r.Capability), r)
			rule := newCondition(r)
			key := r.Capability + " " + rule.asked()
			if seen[key] {
				c.add("sets[%d].rules[%d] on %q appears twice", i, k, r.Capability)
			}
			seen[key] = true
		}
	}
}

func (c *complaints) rule(what string, r *Rule) {
	c.capability(r.Capability)
	c.value(what, &r.Value)
	suits, required := true, ""
	switch r.Is {
	case Equals:
		suits, required = r.Text != "" || r.Number != nil, "a text or a number"
	case OneOf:
		suits, required = r.Set != nil, "a set"
	case Within:
		suits, required = r.From != nil || r.To != nil, "from, to or both"
	case Not:
	default:
		c.add("%s: unknown operator %q; must be one of %q", what, r.Is, []Operator{Equals, OneOf, Within, Not})
	}
	if !suits {
		c.add("%s: %q requires %s", what, r.Is, required)
	}
}

func (c *complaints) vm(v *VM) {
	c.named(0)
	if v.Home.Name != "" {
		c.add("home has the name %q: only disks have one", v.Home.Name)
	}
	c.object(&v.Home)
	var seen map[string]bool
	if len(v.Disks) > 8 {
		seen = make(map[string]bool, len(v.Disks))
	}
	for i := range v.Disks {
		d := &v.Disks[i]
		c.plain("name of a disk", d.Name)
		if seen[d.Name] || seen == nil && slices.ContainsFunc(v.Disks[:i], func(o Object) bool { return o.Name == d.Name }) {
			c.add("two disks have the name %q", d.Name)
		}
		if seen != nil {
			seen[d.Name] = true
		}
		c.object(d)
	}
}

func (c *complaints) object(o *Object) {
	for _, n := range [...]struct{ kind, name string }{{"datastore", o.Datastore}, {"policy", o.Policy}} {
		if !readable(n.name) {
			c.add("%s: %s %q contains unprintable characters", label(o.Name), n.kind, n.name)
		}
	}
	if o.Generation < 0 || o.Applied < 0 {
		c.add("%s: a generation is negative: %d of the object, %d applied", label(o.Name), o.Generation, o.Applied)
	}
}

// label is the name of an object within its VM.
func label(disk string) string {
	if disk == "" {
		return "home"
	}
	return "disk " + disk
}
