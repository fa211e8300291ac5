package audit

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
)

// lint looks for benchmarking crimes that the data of findings can show. It lists only those
// found.
//
// Source: Heiser, Systems Benchmarking Crimes; van der Kouwe et al. (2018).
func lint(f *finding.Findings) []finding.Claim {
	var all []finding.Claim
	report := func(sentence, computed, fault string) {
		all = append(all, finding.Claim{Sentence: sentence, Computed: computed, Fault: fault})
	}
	for i := range f.Headlines {
		h := &f.Headlines[i]
		if h.NoInterval && coloured(h) && h.Counts == nil {
			report(h.Sentence.Text, "no interval", "called "+string(h.Verdict)+" without an interval")
		}
		if h.NoInterval && h.Counts == nil && strings.Contains(h.Sentence.Text, "between") {
			report(h.Sentence.Text, "no interval", "an interval is printed that does not exist")
		}
		if h.OwnLoad && !strings.Contains(h.Sentence.Text, "at its own load") {
			report(h.Sentence.Text, "the arms carry different loads", "latency compared at different loads")
		}
		if h.Blocks > 0 && !strings.Contains(h.Sentence.Text, f.Label(0)) {
			report(h.Sentence.Text, "the baseline is "+f.Label(0), "no baseline named")
		}
		if percentWithoutSign(h) {
			report(h.Sentence.Text, quantity.Percent(h.Ratio-1), "sign missing")
		}
		if h.NotRandomised && !strings.Contains(h.Sentence.Text, "not randomised") {
			report(h.Sentence.Text, "not randomised", "weaker evidence that does not say so")
		}
	}
	for i := range f.Exploratory {
		if e := &f.Exploratory[i]; coloured(e) {
			report(e.Sentence.Text, "exploratory", "only a headline can be better or worse")
		}
	}
	for _, name := range missingHeadlines(f) {
		report(name, "no value in any valid trial", "sub-results missing")
	}
	if f.Tuning != nil {
		for i, r := range f.Tuning.Rounds {
			lintRound(i, &r, report)
		}
	}
	return all
}

func percentWithoutSign(c *finding.Comparison) bool {
	for _, n := range c.Numbers {
		change := strings.HasSuffix(n.ID, "/change") || strings.HasSuffix(n.ID, "/low") || strings.HasSuffix(n.ID, "/high")
		if change && n.Text != "0 %" && !strings.HasPrefix(n.Text, "+") && !strings.HasPrefix(n.Text, "-") {
			return true
		}
	}
	return false
}

// missingHeadlines are arms without a value of a headline.
func missingHeadlines(f *finding.Findings) []string {
	var all []string
	for i := range f.Headlines {
		if h := &f.Headlines[i]; h.Blocks == 0 {
			all = append(all, h.Metric.Name+" of "+f.Label(h.Arm))
		}
	}
	return all
}

// lintRound checks that a change was verified on data other than those that suggested it.
func lintRound(i int, r *finding.Round, report func(sentence, computed, fault string)) {
	sentence := fmt.Sprintf("round %d of tuning: %s", i+1, r.Outcome)
	switch {
	case r.Outcome != finding.Kept:
	case r.Verification == nil || r.Verified == "":
		report(sentence, "no verification", "kept without fresh blocks")
	case r.Verified == r.Measured || r.Seed == r.MeasuredSeed:
		report(sentence, "measured in "+r.Measured+", verified in "+r.Verified, "the same data to tune and to verify")
	case r.Verification.NotRandomised:
		report(sentence, "not randomised", "verified without random order")
	case !(r.Bound > 0):
		report(sentence, "least gain "+quantity.Percent(r.Bound), "kept although the bound does not exclude a loss")
	}
}
