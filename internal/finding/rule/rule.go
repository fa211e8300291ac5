// Package rule holds the rules that explain what limits an arm, or why one differs.
// Rules do not know each other.
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
	// Needs lists metrics and counters without which the rule cannot be judged: it
	// is then listed as not judged. "a|b" needs one of them.
	Needs []string
	// About is a metric of the studies that the rule concerns: it is not listed in others, and
	// asked in these whatever the effect. Empty is all studies.
	About string
	// Disks marks a rule about the disks that the workload itself drives. Of any other
	// workload it is listed as not judged.
	Disks bool
	// Closed marks a rule about operations that begin as others end. Of a load that is
	// offered at a rate it is listed as not judged.
	Closed bool
	// Check examines one arm; nil when the rule does not apply.
	Check func(c *Case, arm int) *Found
}

// All lists the rules. What makes the numbers themselves doubtful comes first;
// of those that name a change, the first that fires is recommended.
func All() []Rule {
	return []Rule{
		generatorCPU,
		simulatorCeiling,
		cgroupThrottling,
		workingSetInPageCache,
		writeCacheExhausted,
		deviceAtCeiling,
		outstandingIOTooHigh,
		outstandingIOTooLow,
		closedLoop,
		movedCounters,
	}
}

// Case is the input of rules.
type Case struct {
	Table                  *table.Table
	Headlines, Exploratory []finding.Comparison
}

// Explain asks the rules about the arms that matter: both of two, else the
// baseline and the best. Without a decided effect nothing is explained that only
// chance may have made, unless the study has one arm or a goal, and so asks what
// its limit is.
func Explain(c *Case, rules []Rule, best int) (found []finding.Explanation, notJudged []string) {
	arms := []int{0}
	switch {
	case c.Table.Arms == 2:
		arms = []int{0, 1}
	case best != 0:
		arms = []int{0, best}
	}
	limits := c.Table.Arms == 1 || c.Table.Study.Goal != nil || slices.ContainsFunc(c.Headlines, decided)
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
				found = append(found, c.explain(r.Name, arm, f))
			} else if len(c.Table.Of[arm]) == 0 {
				note(r.Name + ": no valid trial")
			}
		}
	}
	for _, why := range reasons {
		notJudged = append(notJudged, strings.Join(unfitRules[why], ", ")+": "+why)
	}
	return found, notJudged
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
		return "the workload itself drives no disks"
	case r.Closed && c.Table.Paced(arm):
		return "needs a closed loop; this load is offered at a rate"
	case r.Closed:
		return c.impossibleStep(arm)
	}
	return ""
}

// lack names the data that the rule needs and the case lacks; empty if complete.
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

// sort separates counters, which are named by host and resource, from metrics.
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

// Found is what a rule says of an arm. In Says {arm}, {baseline} and Names stand for names,
// {NAME} for the evidence of that name, {from} and {to} for the ends of the change, and
// {METRIC@ARM/FIELD} for a number of a comparison.
type Found struct {
	Says     string
	Grade    finding.Grade
	Evidence []finding.Evidence
	Change   *finding.Change
	Gain     *finding.Gain
	Names    map[string]string // further names that the template uses; they may hold no digits that are results
}

// accounts is the explanation of an arm's result.
func accounts(says string, e ...finding.Evidence) *Found {
	return &Found{Says: says, Grade: finding.AccountsFor, Evidence: e}
}

func evidence(name string, value float64, unit string) finding.Evidence {
	return finding.Evidence{Name: name, Value: value, Unit: unit}
}

// explain writes the result of a rule for an arm.
func (c *Case) explain(rule string, arm int, f *Found) finding.Explanation {
	e := finding.Explanation{Rule: rule, Arm: arm, Grade: f.Grade, Evidence: f.Evidence, Change: f.Change, Gain: f.Gain}
	names := map[string]string{"arm": finding.Called(c.Table.Label(arm)), "baseline": finding.Called(c.Table.Label(0)), "rate": c.Table.Rate}
	maps.Copy(names, f.Names)
	if e.Change != nil {
		names["factor"] = e.Change.Factor
	}
	said := finding.Findings{Headlines: c.Headlines, Exploratory: c.Exploratory, Explanations: []finding.Explanation{e}}
	s := sentence.Scene{Names: names, Prefix: "rule:" + finding.Key(rule, arm), Number: finding.NewLedger(&said).Number}
	e.Sentence = s.Compose(f.Says)
	return e
}

// decided reports whether the comparison found a difference.
func decided(one finding.Comparison) bool { return one.Verdict.Differs() }

// decidedArm reports whether some headline of the arm differs from the baseline.
func (c *Case) decidedArm(arm int) bool {
	return slices.ContainsFunc(c.Headlines, func(one finding.Comparison) bool { return one.Arm == arm && decided(one) })
}
