package finding

import (
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

// Rule is a rule of explanation. Rules do not know each other.
type Rule struct {
	Name, Doc string
	// Effect marks a rule that explains a difference between an arm and the
	// baseline. It is asked only where a headline of the arm is decided. Other rules
	// explain what limits an arm.
	Effect bool
	// Needs lists metrics and counters without which the rule cannot be judged: it
	// is then listed as not judged. "a|b" needs one of them.
	Needs []string
	// Disks marks a rule about the disks that the workload itself drives. Of any other
	// workload it is listed as not judged.
	Disks bool
	// Closed marks a rule about operations that begin as others end. Of a load that is
	// offered at a rate it is listed as not judged.
	Closed bool
	// Check looks at one arm and says what holds; nothing when the rule does not
	// apply. Case.Explain writes its sentences.
	Check func(c *Case, arm int) []Explanation
}

// Rules lists the rules. What makes the numbers themselves doubtful comes first;
// of those that name a change, the first that fires is recommended.
func Rules() []Rule {
	return []Rule{
		generatorCPU(),
		cgroupThrottling(),
		workingSetInPageCache(),
		writeCacheExhausted(),
		deviceAtCeiling(),
		outstandingIOTooHigh(),
		outstandingIOTooLow(),
		closedLoop(),
		movedCounters(),
	}
}

// explain asks the rules about the arms that matter: both of two, else the
// baseline and the best. Without a decided effect nothing is explained that only
// chance may have made, unless the study has one arm or a goal, and so asks what
// its limit is.
func (c *Case) explain(best int) (found []Explanation, notJudged []string) {
	arms := []int{0}
	switch {
	case c.view.arms == 2:
		arms = []int{0, 1}
	case best != 0:
		arms = []int{0, best}
	}
	rules := c.Rules
	if rules == nil {
		rules = Rules()
	}
	limits := c.view.arms == 1 || c.Study.Goal != nil || slices.ContainsFunc(c.view.headlines, decided)
	unfit := map[string][]string{}
	var reasons []string
	for _, r := range rules {
		for _, arm := range arms {
			if why := c.unfit(r, arm); why != "" {
				if !slices.Contains(reasons, why) {
					reasons = append(reasons, why)
				}
				if !slices.Contains(unfit[why], r.Name) {
					unfit[why] = append(unfit[why], r.Name)
				}
				continue
			}
			if r.Effect && !c.decidedArm(arm) || !r.Effect && !limits {
				continue
			}
			if lack := c.lack(r); lack != "" {
				if line := r.Name + ": " + lack; !slices.Contains(notJudged, line) {
					notJudged = append(notJudged, line)
				}
				continue
			}
			said := r.Check(c, arm)
			for _, e := range said {
				e.Rule, e.Arm = r.Name, arm
				found = append(found, e)
			}
			if line := r.Name + ": no valid trial"; len(said) == 0 && len(c.view.of[arm]) == 0 && !slices.Contains(notJudged, line) {
				notJudged = append(notJudged, line)
			}
		}
	}
	for _, why := range reasons {
		notJudged = append(notJudged, strings.Join(unfit[why], ", ")+": "+why)
	}
	return found, notJudged
}

// unfit says why a rule has nothing to say of the load of an arm; empty when it has.
func (c *Case) unfit(r Rule, arm int) string {
	switch {
	case r.Disks && !c.Disks:
		return "the workload itself drives no disks"
	case r.Closed && c.paced(arm):
		return "needs a closed loop; this load is offered at a rate"
	case r.Closed:
		return c.impossibleStep(arm)
	}
	return ""
}

// paced says that the load of an arm comes at a rate, whatever is outstanding: one that
// the study gives, or those of a search.
func (c *Case) paced(arm int) bool {
	return c.openLoop(arm) || c.Study.Load.Peak != nil || c.Study.Load.Growth != nil
}

// lack says what the rule needs and the case has not; empty when it has all.
func (c *Case) lack(r Rule) string {
	for _, need := range r.Needs {
		names := strings.Split(need, "|")
		if slices.ContainsFunc(names, c.seen) {
			continue
		}
		for i, n := range names {
			names[i] = n + c.sort(n)
		}
		return "no " + strings.Join(names, " and no ")
	}
	return ""
}

// seen says whether any trial of the case, void ones included, holds the name.
func (c *Case) seen(name string) bool {
	if _, ok := c.view.byName[name]; ok {
		return true
	}
	for i := range c.view.records {
		if _, ok := raw(&c.view.records[i], name); ok {
			return true
		}
	}
	return false
}

// sort tells counters, which are named by host and resource, from metrics.
func (c *Case) sort(name string) string {
	for _, m := range c.Metrics {
		if m.Name == name {
			return ""
		}
	}
	if strings.Contains(name, ".") {
		return " counter"
	}
	return ""
}

func raw(r *measure.Record, name string) (float64, bool) {
	if x, ok := r.Values[name]; ok {
		return x, true
	}
	x, ok := r.Counters[name]
	return x, ok
}

// overAll is the mean over the trials of an arm, void ones included, that have the
// value: a trial is often void for the very reason that a rule looks for.
func (c *Case) overAll(arm int, value func(*measure.Record) (float64, bool)) (mean float64, ok bool) {
	var sum float64
	n := 0
	for i := range c.view.records {
		r := &c.view.records[i]
		if r.Arm != arm {
			continue
		}
		if x, ok := value(r); ok {
			sum += x
			n++
		}
	}
	return sum / float64(max(1, n)), n > 0
}

// Found is what a rule says, before it is written out.
type Found struct {
	Rule     string
	Arm      int
	Grade    Grade
	Evidence []Evidence
	Change   *Change
	Gain     *Gain
	Names    map[string]string // further names that the template uses; they may hold no digits that are results
}

// Explain writes an explanation. In the template {arm}, {baseline} and Names stand
// for names, {NAME} for the evidence of that name, {from} and {to} for the ends of
// the change, and {METRIC@ARM/FIELD} for a number of the findings.
func (c *Case) Explain(template string, f Found) Explanation {
	e := Explanation{Rule: f.Rule, Arm: f.Arm, Grade: f.Grade, Evidence: f.Evidence, Change: f.Change, Gain: f.Gain}
	names := map[string]string{"arm": called(c.label(f.Arm)), "baseline": called(c.label(0)), "rate": c.Rate}
	for k, v := range f.Names {
		names[k] = v
	}
	if e.Change != nil {
		names["factor"] = e.Change.Factor
	}
	s := scene{names: names, prefix: "rule:" + place(f.Rule, f.Arm)}
	own := s.prefix + "/"
	s.text = func(id string) (string, bool) {
		if field, found := strings.CutPrefix(id, own); found {
			return e.text(field)
		}
		return c.lookUp(id)
	}
	e.Sentence, e.Numbers = s.compose(template)
	return e
}

// lookUp finds a number of a comparison by its name.
func (c *Case) lookUp(id string) (string, bool) {
	for _, list := range [][]Comparison{c.view.headlines, c.view.exploratory} {
		for i := range list {
			if field, found := strings.CutPrefix(id, place(list[i].Metric.Name, list[i].Arm)+"/"); found {
				return list[i].text(field)
			}
		}
	}
	return "", false
}

// decided says whether the comparison found a difference.
func decided(one Comparison) bool {
	return one.Verdict.Differs()
}

// decidedArm says whether some headline of the arm differs from the baseline.
func (c *Case) decidedArm(arm int) bool {
	return slices.ContainsFunc(c.view.headlines, func(one Comparison) bool { return one.Arm == arm && decided(one) })
}
