// Package judge turns records into findings: it calls the rooms of finding in order. It is
// pure: the same records give the same findings, in any order, in time proportional to
// their number.
package judge

import (
	"fmt"
	"slices"

	diagnosisrule "plimsoll/internal/diagnosis/rule"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/account"
	"plimsoll/internal/finding/audit"
	"plimsoll/internal/finding/capacity"
	"plimsoll/internal/finding/certificate"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/diagnose"
	"plimsoll/internal/finding/rank"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/finding/wording"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// Study judges the records of a study by the given rules of explanation.
func Study(c table.Case, rules []rule.Rule) *finding.Findings {
	t := table.New(c)
	f := &finding.Findings{
		Format: finding.Format,
		Study:  c.Study.Name, Question: c.Study.Question, Seed: c.Plan.Seed, Arms: c.Plan.Arms,
		Level: c.Plan.Level, Error: c.Plan.Alpha(), Looks: c.Plan.Looks, Least: c.Plan.Least(), Margin: c.Study.Margin, Planned: c.Plan.Most,
		Blocks: t.CompleteBlocks(), Trials: len(t.Records), Void: t.Void(),
		DataFailures: t.DataFailures(), Faults: t.Faults(),
	}
	f.Summaries = compare.Summaries(t)
	f.Peaks = capacity.Peaks(t)
	f.TileEnds = capacity.TileEnds(t)
	f.Headlines = compare.Headlines(t)
	f.Exploratory, f.Families = compare.Explore(t)
	f.ScaleOut = capacity.ScaleOut(t, f)
	for _, metric := range c.Study.Headline {
		compare.AlignMeans(f, metric)
	}
	wording.ScaleOut(f)
	wording.Comparisons(f)
	wording.Peaks(f)
	f.Certificate = certificate.Of(t, f.Headlines)
	best := best(f, c.Study)
	f.Accounts = account.Of(t, f.Headlines, f.Exploratory)
	f.Moved = rank.Of(t, f.Headlines, f.Exploratory, f.Accounts)
	wording.Accounts(f)
	explain(f, &rule.Case{
		Table: t, Headlines: f.Headlines, Exploratory: f.Exploratory, Summaries: f.Summaries, Accounts: f.Accounts, Moved: f.Moved,
	}, rules, best)
	degraded := func(c finding.Comparison) bool { return c.Degraded }
	if len(f.DataFailures) == 0 && !slices.ContainsFunc(f.Headlines, degraded) {
		f.Recommendation = rule.Recommend(f, best, nil)
	}
	for arm := range c.Plan.Arms {
		f.Limits = append(f.Limits, Limits(c.Study.Limits, f.Summaries, arm)...)
	}
	if len(c.Study.Headline) > 0 {
		wording.Answer(f, c.Study.Headline[0])
		wording.TileEnds(f)
	}
	f.Audit = audit.Of(f, c.Study.Published)
	return f
}

// explain adds the explanations: limits first, then what accounts for an effect.
func explain(f *finding.Findings, c *rule.Case, rules []rule.Rule, best int) {
	said, lacking := rule.Explain(c, rules, best)
	limits, unjudged := diagnose.Explain(c, diagnosisrule.All(), best, said)
	at := slices.IndexFunc(said, func(e finding.Explanation) bool { return rule.Effects(rules, e.Rule) })
	if at < 0 {
		at = len(said)
	}
	f.Explanations, f.NotJudged = slices.Insert(said, at, limits...), append(lacking, unjudged...)
}

// Runs compares two runs, the first of which is the baseline: see compare.Runs.
func Runs(baseline, other compare.Run, t compare.Terms) *finding.Findings {
	f := compare.Runs(baseline, other, t)
	wording.Comparisons(f)
	names := t.Headline
	if names == nil {
		for _, m := range baseline.Metrics {
			names = append(names, m.Name)
		}
	}
	if i := slices.IndexFunc(names, func(name string) bool {
		return slices.ContainsFunc(f.Headlines, func(c finding.Comparison) bool { return c.Metric.Name == name })
	}); i >= 0 {
		wording.Answer(f, names[i])
	}
	f.Audit = audit.Of(f, nil)
	return f
}

// Attach adds the log of a tuning to the findings of its last run, and audits them again.
// Changes that were tried and rolled back are no longer recommended.
func Attach(f *finding.Findings, t *finding.Tuning, published []study.Figure) {
	f.Tuning = t
	wording.Tell(t)
	for i := range t.Rounds {
		for k := range t.Rounds[i].Guards {
			g := &t.Rounds[i].Guards[k]
			g.Sentence = g.Sentence.Located()
		}
	}
	present, refused := 0, []string(nil)
	for i := range t.Rounds {
		switch r := &t.Rounds[i]; r.Outcome {
		case finding.Kept:
			present = 1
		case finding.RolledBack:
			present = 0
			refused = append(refused, r.Recommendation.Rule)
		}
	}
	f.Recommendation = rule.Recommend(f, present, refused)
	f.Audit = audit.Of(f, published)
}

// Intervene adds the interventions of a study to its findings, and audits them again. Their
// explanations come first, the cause before what was refuted.
func Intervene(f *finding.Findings, all []finding.Intervention, published []study.Figure) {
	f.Interventions = all
	wording.Interventions(f)
	var first, then []finding.Explanation
	for i := range all {
		v := &all[i]
		e := finding.Explanation{Rule: fmt.Sprintf("intervention_%d", i+1), Arm: v.Arm, Grade: gradeOf(v.Result), Sentence: v.Sentence, Evidence: evidence(v)}
		if v.Result == finding.Caused {
			first = append(first, e)
		} else {
			then = append(then, e)
		}
		for k := range f.Moved {
			if m := &f.Moved[k]; m.Arm == v.Arm && m.Metric == v.Counter {
				m.Result = v.Result
				if e.Grade != finding.MovedWith {
					m.Grade = e.Grade
				}
			}
		}
	}
	f.Explanations = slices.Concat(first, then, f.Explanations)
	f.Audit = audit.Of(f, published)
}

// gradeOf is the grade of an explanation by an intervention.
func gradeOf(r finding.Result) finding.Grade {
	switch r {
	case finding.Caused:
		return finding.CausedIt
	case finding.CausedPart:
		return finding.AccountsFor
	}
	return finding.MovedWith
}

// evidence are the changes of the counter, which say whether it was held.
func evidence(v *finding.Intervention) (all []finding.Evidence) {
	for _, one := range []struct {
		name  string
		ratio float64
	}{{v.Counter + " with " + v.Factor + "=" + v.Free, v.CounterFree}, {v.Counter + " with " + v.Factor + "=" + v.Pinned, v.CounterPinned}} {
		if one.ratio > 0 {
			all = append(all, finding.Evidence{Name: one.name, Value: one.ratio - 1, Unit: "change"})
		}
	}
	return all
}

// best is the arm with the largest decided gain in the goal's metric, or else in the first
// headline; otherwise the baseline.
func best(f *finding.Findings, s *study.Study) int {
	if len(s.Headline) == 0 {
		return 0
	}
	name := s.Headline[0]
	if g := s.Goal; g != nil && slices.Contains(s.Headline, g.Metric) {
		name = g.Metric
	}
	best, gain := 0, 0.0
	for _, h := range f.Headlines {
		if h.Metric.Name != name || !h.Verdict.Differs() || h.NoInterval {
			continue
		}
		g := h.Ratio - 1
		if h.Metric.Better == measure.LowerIsBetter {
			g = 1 - h.Ratio
		}
		if h.Metric.Better != measure.Neutral && g > gain {
			best, gain = h.Arm, g
		}
	}
	return best
}

// Limits checks limits against the mean of an arm. A metric without a value is unknown.
func Limits(limits []study.Limit, summaries []finding.Summary, arm int) []finding.LimitResult {
	var all []finding.LimitResult
	for _, l := range limits {
		r := finding.LimitResult{Limit: l.String(), Arm: arm, State: measure.Unknown}
		for _, s := range summaries {
			if s.Metric.Name != l.Metric || s.Arm != arm {
				continue
			}
			r.Value, r.State = s.Mean, measure.Pass
			if l.Min != nil && s.Mean < *l.Min || l.Max != nil && s.Mean > *l.Max {
				r.State = measure.Fail
			}
		}
		all = append(all, r)
	}
	return all
}
