package tune

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/stat"
)

// family is the confidence level of a verification: an ineffective change is kept in at most 5
// of 100.
const family = 0.95

// decide reports whether fresh blocks confirm the change. An undecided one is rolled back.
func (l *loop) decide(f *finding.Findings, r *finding.Round) {
	goal := l.Study.Goal
	r.BoundLevel = l.boundLevel()
	e := compare.Effect(f, goal.Metric, 1, 2*(1-r.BoundLevel))
	low, helps := e.Low, e.Mean > 0
	if goal.Direction == measure.LowerIsBetter {
		low, helps = -e.High, e.Mean < 0
	}
	if r.BoundP = e.P / 2; !helps {
		r.BoundP = 1 - e.P/2
	}
	if !math.IsInf(low, 0) {
		r.Bound = leastGain(low, goal.Direction)
	}
	r.Verification = find(f.Headlines, goal.Metric)
	r.Guards = l.guards(f)
	r.Limits = judge.Limits(goal.Floor, f.Summaries, 1)
	r.Outcome, r.Reason = finding.RolledBack, ""
	least := stat.LeastBlocksAt(2 * (1 - r.BoundLevel))
	switch {
	case e.N < least:
		r.Reason = tooFew(e.N, least, f.Least)
	case !(low > 0):
		r.Reason = "fresh blocks do not confirm a gain"
	default:
		r.Reason = blocked(r)
	}
	if r.Reason == "" {
		r.Outcome, r.Reason = finding.Kept, "fresh blocks confirm a gain"
		if worse := tradeOffs(r.Guards); worse != "" {
			r.Reason += "; trade-offs: " + worse
		}
	}
}

// tooFew also names the blocks of the two-sided verdict where they are more: the report
// shows that verdict beside the reason.
func tooFew(complete, least, verdict int) string {
	text := fmt.Sprintf("only %d complete %s; the one-sided bound of a verification needs at least %d", complete, quantity.Plural(complete, "block"), least)
	if verdict > least {
		text += fmt.Sprintf(" (a two-sided verdict: %d)", verdict)
	}
	return text
}

// leastGain converts the bound of a log-ratio, positive for better, to a share of the former
// value: the increase of a rate, the decrease of a time. A time that halves is a gain of 50 %.
func leastGain(low float64, better measure.Direction) float64 {
	if better == measure.LowerIsBetter {
		return -math.Expm1(-low)
	}
	return math.Expm1(low)
}

// boundLevel is the confidence level of the one-sided bound at each look.
func (l *loop) boundLevel() float64 {
	if len(l.Looks) < 2 {
		return family
	}
	return stat.LookLevelOneSided(l.Looks, family)
}

// blocked names the state, floor or guard that prevents keeping the change; empty if none does. A
// floor that cannot be judged does.
func blocked(r *finding.Round) string {
	if r.Verification != nil && r.Verification.Degraded {
		return "the cluster lacked redundancy, and is never better then"
	}
	for _, limit := range r.Limits {
		switch limit.State {
		case measure.Fail:
			return "the floor " + limit.Limit + " is violated"
		case measure.Unknown:
			return "the floor " + limit.Limit + " could not be judged"
		}
	}
	for _, g := range r.Guards {
		if g.Counts != nil && moreFailures(g) {
			return "more operations fail"
		}
	}
	return ""
}

func moreFailures(g finding.Comparison) bool {
	n := g.Counts
	return g.Verdict.Differs() && float64(n.Failed)*float64(n.BaselineOperations) > float64(n.BaselineFailed)*float64(n.Operations)
}

// tradeOffs names the guards that got worse.
func tradeOffs(guards []finding.Comparison) string {
	text := ""
	for _, g := range guards {
		wrong := g.Ratio < 1 && !g.NoRatio
		if g.Metric.Better == measure.LowerIsBetter {
			wrong = g.Ratio > 1 || g.NoRatio // from 0 it can only rise
		}
		if g.Counts != nil || g.Metric.Better == measure.Neutral || !g.Verdict.Differs() || !wrong {
			continue
		}
		if text != "" {
			text += ", "
		}
		if g.NoRatio {
			text += g.Metric.Name + ", from 0"
			continue
		}
		text += g.Metric.Name + " " + quantity.Percent(g.Ratio-1)
	}
	return text
}

// guards are the comparisons checked beside the goal: failures, the metrics of the floor, and
// the other headlines.
func (l *loop) guards(f *finding.Findings) []finding.Comparison {
	names := []string{"errors"}
	for _, limit := range l.Study.Goal.Floor {
		names = append(names, limit.Metric)
	}
	names = append(names, l.Study.Headline...)
	var all []finding.Comparison
	for i, name := range names {
		if name == l.Study.Goal.Metric || slices.Contains(names[:i], name) {
			continue
		}
		for _, list := range [][]finding.Comparison{f.Headlines, f.Exploratory} {
			if c := find(list, name); c != nil {
				all = append(all, *c)
				break
			}
		}
	}
	return all
}

// find returns the comparison of the changed arm in a metric.
func find(list []finding.Comparison, metric string) *finding.Comparison {
	for i := range list {
		if list[i].Metric.Name == metric && list[i].Arm == 1 {
			c := list[i]
			return &c
		}
	}
	return nil
}
