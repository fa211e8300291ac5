// Package rule holds the rules that explain the bottleneck of an arm, or its difference from
// the baseline. Rules are independent of each other.
package rule

import (
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/sentence"
)

// Rule is a rule of explanation.
type Rule struct {
	Name, Doc string
	// Effect marks a rule that explains a difference between an arm and the baseline. It
	// runs only if a headline of the arm is decided. Other rules explain the limit of an
	// arm.
	Effect bool
	// Needs lists the metrics and counters that the rule requires, otherwise it is listed as
	// not judged. "a|b" requires one of them.
	Needs []string
	// About is the metric that makes a study relevant to the rule: other studies do not list
	// it, and these evaluate it whatever the effect. Empty is all studies.
	About string
	// Disks marks a rule about disks that the workload itself uses. For other workloads it is
	// listed as not judged.
	Disks bool
	// Closed marks a rule about closed loops. For loads with an offered rate it is listed as
	// not judged.
	Closed bool
	// Check evaluates one arm; nil if the rule does not apply.
	Check func(c *Case, arm int) *Found
	// Lacks names what is missing to tell where Check found nothing, although the study asks for limits; empty for nothing. It may be nil.
	Lacks func(c *Case, arm int) string
}

// All lists the rules. Rules that question the validity of the results come first; the first
// rule with a change makes the recommendation.
func All() []Rule {
	return []Rule{
		generatorCPU,
		simulatorCeiling,
		storageSide,
		workingSetInPageCache,
		writeCacheExhausted,
		deviceAtCeiling,
		outstandingIOTooHigh,
		outstandingIOTooLow,
		closedLoop,
		accounting,
		movedCounters,
	}
}

// Effects reports whether a rule explains a difference between arms, rather than a limit.
func Effects(rules []Rule, name string) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == name && r.Effect })
}

// Case is the input of rules.
type Case struct {
	Table                  *table.Table
	Headlines, Exploratory []finding.Comparison
	Summaries              []finding.Summary
	Accounts               []finding.Account // of decided effects
	Moved                  []finding.Moved   // counters that changed along with them, ranked
}

// Explain evaluates the rules for the relevant arms: both of two, else the baseline and the
// best. Without a decided effect nothing is explained, since it may be chance, unless the
// study has one arm or a goal and so asks for the bottleneck.
func Explain(c *Case, rules []Rule, best int) (found []finding.Explanation, notJudged []string) {
	arms, limits := c.Scope(best)
	unfitRules := map[string][]string{}
	var reasons []string
	note := func(line string) {
		if !slices.Contains(notJudged, line) {
			notJudged = append(notJudged, line)
		}
	}
	for _, r := range rules {
		for _, arm := range arms {
			if why := unfit(c, r, arm); why != "" {
				if !slices.Contains(reasons, why) {
					reasons = append(reasons, why)
				}
				if !slices.Contains(unfitRules[why], r.Name) {
					unfitRules[why] = append(unfitRules[why], r.Name)
				}
				continue
			}
			if r.About != "" && !c.has(arm, r.About) || r.Effect && !c.decidedArm(arm) || !r.Effect && !limits && r.About == "" {
				continue
			}
			if lack := lack(c, r); lack != "" {
				note(r.Name + ": " + lack)
				continue
			}
			if f := r.Check(c, arm); f != nil {
				found = append(found, c.Explained(r.Name, arm, f))
			} else if len(c.Table.Of[arm]) == 0 {
				note(r.Name + ": no valid trial")
			} else if r.Lacks != nil && limits {
				if lack := r.Lacks(c, arm); lack != "" {
					note(r.Name + ": " + lack)
				}
			}
		}
	}
	for _, why := range reasons {
		notJudged = append(notJudged, strings.Join(unfitRules[why], ", ")+": "+why)
	}
	return found, notJudged
}

// Scope is the arms that are explained, and whether their limits are.
func (c *Case) Scope(best int) (arms []int, limits bool) {
	arms = []int{0}
	switch {
	case c.Table.Arms == 2:
		arms = []int{0, 1}
	case best != 0:
		arms = []int{0, best}
	}
	return arms, c.Table.Arms == 1 || c.Table.Study.Goal != nil || slices.ContainsFunc(c.Headlines, decided)
}

// has reports whether valid trials of an arm have a metric.
func (c *Case) has(arm int, metric string) bool {
	_, ok := c.Table.Mean(arm, metric)
	return ok
}

// unfit is why a rule does not apply to the load of an arm; empty if it does.
func unfit(c *Case, r Rule, arm int) string {
	switch {
	case r.Disks && !c.Table.Disks:
		return "the workload itself uses no disks"
	case r.Closed && c.Table.Paced(arm):
		return "needs a closed loop; this load is offered at a rate"
	case r.Closed:
		return c.impossibleStep(arm)
	}
	return ""
}

// lack names the required data that are missing; empty if complete.
func lack(c *Case, r Rule) string {
	for _, need := range r.Needs {
		names := strings.Split(need, "|")
		if slices.ContainsFunc(names, c.Table.Seen) {
			continue
		}
		for i, n := range names {
			names[i] = n + sort(c, n)
		}
		return "no " + strings.Join(names, " and no ")
	}
	return ""
}

// sort is whether a name is of a counter, which begins with host and resource, or of a metric.
func sort(c *Case, name string) string {
	for _, m := range c.Table.Metrics {
		if m.Name == name {
			return ""
		}
	}
	if strings.Contains(name, ".") {
		return " counter"
	}
	return ""
}

// Found is the result of a rule for an arm. In Says {arm}, {baseline} and Names stand for
// names, {NAME} for the evidence of that name, {from} and {to} for the levels of the change,
// and {METRIC@ARM/FIELD} for a number of a comparison.
type Found struct {
	Says     string
	Grade    finding.Grade
	Evidence []finding.Evidence
	Change   *finding.Change
	Gain     *finding.Gain
	Advice   string            // the change in words
	Command  string            // that makes it
	Names    map[string]string // further names in the template; they must not have digits that are results
}

// accounts is the result of a rule that accounts for an effect or limit.
func accounts(says string, e ...finding.Evidence) *Found {
	return &Found{Says: says, Grade: finding.AccountsFor, Evidence: e}
}

func evidence(name string, value float64, unit string) finding.Evidence {
	return finding.Evidence{Name: name, Value: value, Unit: unit}
}

// Explained writes the result of a rule for an arm.
func (c *Case) Explained(rule string, arm int, f *Found) finding.Explanation {
	e := finding.Explanation{Rule: rule, Arm: arm, Grade: f.Grade, Evidence: f.Evidence, Change: f.Change, Gain: f.Gain, Advice: f.Advice, Command: f.Command}
	names := map[string]string{"arm": finding.InSentence(c.Table.Label(arm)), "baseline": finding.InSentence(c.Table.Label(0)), "rate": c.Table.Rate}
	maps.Copy(names, f.Names)
	if e.Change != nil {
		names["factor"] = e.Change.Factor
	}
	said := finding.Findings{
		Headlines: c.Headlines, Exploratory: c.Exploratory, Summaries: c.Summaries, Accounts: c.Accounts, Explanations: []finding.Explanation{e},
	}
	s := sentence.Scene{Names: names, Prefix: "rule:" + finding.Key(rule, arm), Number: finding.NewLedger(&said).Number}
	e.Sentence = s.Compose(f.Says)
	return e
}

// decided reports whether the arms differ significantly.
func decided(one finding.Comparison) bool { return one.Verdict.Differs() }

// decidedArm reports whether some headline of the arm differs significantly from the baseline.
func (c *Case) decidedArm(arm int) bool {
	return slices.ContainsFunc(c.Headlines, func(one finding.Comparison) bool { return one.Arm == arm && decided(one) })
}
