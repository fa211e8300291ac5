package policy

import "testing"

func text(s string) Value       { return Value{Text: s} }
func set(s ...string) Value     { return Value{Set: s} }
func exactly(n int64) Value     { return Value{Number: &n} }
func between(a, b int64) Value  { return Value{From: &a, To: &b} }
func atLeast(n int64) Value     { return Value{From: &n} }
func atMost(n int64) Value      { return Value{To: &n} }
func onStore(v Value) Datastore { return Datastore{Name: "d", Capabilities: []Capability{{"a.b", v}}} }

func TestOperators(t *testing.T) {
	for _, c := range []struct {
		is          Operator
		wants       Value
		offers      Datastore
		result      outcome
		says, hears string
	}{
		{Equals, text("x"), onStore(text("x")), kept, `must be "x"`, `offers "x"`},
		{Equals, text("x"), onStore(text("X")), broken, `must be "x"`, `offers "X"`},
		{Equals, text("x"), onStore(set("y", "x")), kept, `must be "x"`, `offers "x", "y"`},
		{Equals, text("x"), onStore(set("y", "z")), broken, `must be "x"`, `offers "y", "z"`},
		{Equals, text("x"), onStore(exactly(1)), undecided, `must be "x"`, `offers 1, which cannot be compared`},
		{Equals, text("x"), Datastore{Name: "d"}, broken, `must be "x"`, `does not offer it`},
		{Equals, text("x"), Datastore{Name: "d", Silent: true}, undecided, `must be "x"`, `reported no capabilities`},
		{Equals, exactly(2), onStore(exactly(2)), kept, `must be 2`, `offers 2`},
		{Equals, exactly(2), onStore(exactly(3)), broken, `must be 2`, `offers 3`},
		{Equals, exactly(2), onStore(between(0, 2)), kept, `must be 2`, `offers 0 to 2`},
		{Equals, exactly(3), onStore(between(0, 2)), broken, `must be 3`, `offers 0 to 2`},
		{Equals, exactly(3), onStore(text("3")), undecided, `must be 3`, `offers "3", which cannot be compared`},

		{OneOf, set("b", "a"), onStore(text("a")), kept, `must be one of "a", "b"`, `offers "a"`},
		{OneOf, set("a", "b"), onStore(text("c")), broken, `must be one of "a", "b"`, `offers "c"`},
		{OneOf, set("a", "b"), onStore(set("c", "b")), kept, `must be one of "a", "b"`, `offers "b", "c"`},
		{OneOf, set("a"), onStore(set("c", "d")), broken, `must be one of "a"`, `offers "c", "d"`},
		{OneOf, set("a"), onStore(between(1, 2)), undecided, `must be one of "a"`, `offers 1 to 2, which cannot be compared`},
		{OneOf, set("a"), Datastore{Name: "d", Tags: map[string][]string{"b": {"a"}}}, broken, `must be one of "a"`, `does not offer it`},

		{Within, between(1, 3), onStore(exactly(1)), kept, `must be 1 to 3`, `offers 1`},
		{Within, between(1, 3), onStore(exactly(4)), broken, `must be 1 to 3`, `offers 4`},
		{Within, between(1, 3), onStore(between(3, 9)), kept, `must be 1 to 3`, `offers 3 to 9`},
		{Within, between(1, 3), onStore(between(4, 9)), broken, `must be 1 to 3`, `offers 4 to 9`},
		{Within, atLeast(5), onStore(exactly(5)), kept, `must be at least 5`, `offers 5`},
		{Within, atLeast(5), onStore(atMost(4)), broken, `must be at least 5`, `offers at most 4`},
		{Within, atMost(5), onStore(atLeast(6)), broken, `must be at most 5`, `offers at least 6`},
		{Within, atMost(5), onStore(text("low")), undecided, `must be at most 5`, `offers "low", which cannot be compared`},

		{Not, text("x"), onStore(text("y")), kept, `must not be "x"`, `offers "y"`},
		{Not, text("x"), onStore(set("x", "y")), broken, `must not be "x"`, `offers "x", "y"`},
		{Not, text("x"), Datastore{Name: "d"}, kept, `must not be "x"`, `does not offer it`},
		{Not, text("x"), Datastore{Name: "d", Silent: true}, undecided, `must not be "x"`, `reported no capabilities`},
		{Not, text("x"), onStore(exactly(1)), undecided, `must not be "x"`, `offers 1, which cannot be compared`},
		{Not, set("x", "y"), onStore(text("y")), broken, `must not be one of "x", "y"`, `offers "y"`},
		{Not, set("x", "y"), onStore(text("z")), kept, `must not be one of "x", "y"`, `offers "z"`},
		{Not, exactly(7), onStore(between(5, 9)), broken, `must not be 7`, `offers 5 to 9`},
		{Not, exactly(7), onStore(between(8, 9)), kept, `must not be 7`, `offers 8 to 9`},
		{Not, between(1, 2), onStore(exactly(3)), kept, `must not be 1 to 2`, `offers 3`},
		{Not, atLeast(3), onStore(exactly(3)), broken, `must not be at least 3`, `offers 3`},
	} {
		rule := Rule{"a.b", c.is, c.wants}
		inv := Inventory{Datastores: []Datastore{c.offers}, Policies: []Policy{{Name: "p", Sets: []RuleSet{{Rules: []Rule{rule}}}}}}
		if err := inv.Validate(); err != nil {
			t.Errorf("%v on %v: %v", rule, c.offers, err)
		}
		k, o := newCondition(&rule), newOffer(&c.offers)
		if got := k.weigh(&o); got != c.result {
			t.Errorf("it %s, and the datastore %s: outcome %d, want %d", k.asked(), k.offered(&o), got, c.result)
		}
		if k.asked() != c.says || k.offered(&o) != c.hears {
			t.Errorf("%q and %q, want %q and %q", k.asked(), k.offered(&o), c.says, c.hears)
		}
	}
}

func TestTagsAreCapabilities(t *testing.T) {
	d := Datastore{Name: "d", Tags: map[string][]string{"tier": {"gold", "fast"}}}
	o := newOffer(&d)
	for want, outcome := range map[string]outcome{"fast": kept, "slow": broken} {
		k := newCondition(&Rule{"tag.tier", Equals, text(want)})
		if got := k.weigh(&o); got != outcome {
			t.Errorf("tag %s: outcome %d, want %d", want, got, outcome)
		}
	}
}

// All rules of a set and any set of a policy: broken, undecided and kept in every
// combination.
func TestSetsAndRules(t *testing.T) {
	d := Datastore{Name: "d", Capabilities: []Capability{{"a.b", text("x")}, {"a.n", exactly(1)}}}
	o := newOffer(&d)
	rules := map[byte]Rule{
		'k': {"a.b", Equals, text("x")},
		'b': {"a.b", Equals, text("y")},
		'u': {"a.n", Equals, text("y")},
	}
	for sets, want := range map[string]Status{
		"": NotApplicable, "k": Compliant, "b": NonCompliant, "u": Unknown,
		"kk": Compliant, "kb": NonCompliant, "ku": Unknown, "ub": NonCompliant, "kub": NonCompliant,
		"b|k": Compliant, "u|k": Compliant, "b|u": Unknown, "b|b": NonCompliant, "kb|ku": Unknown, "kb|ku|k": Compliant,
	} {
		p := Policy{Name: "p"}
		if sets != "" {
			p.Sets = []RuleSet{{}}
		}
		for _, r := range []byte(sets) {
			if r == '|' {
				p.Sets = append(p.Sets, RuleSet{})
				continue
			}
			last := &p.Sets[len(p.Sets)-1]
			last.Rules = append(last.Rules, rules[r])
		}
		d := newDemand(&p)
		if got := d.weigh(&o); got != want {
			t.Errorf("%q: %v, want %v", sets, got, want)
		}
	}
}
