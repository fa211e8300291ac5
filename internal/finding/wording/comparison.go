// Package wording writes the sentences of findings.
package wording

import (
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
	"plimsoll/internal/sentence"
)

// verdictTemplate is the template of a comparison's sentence. Only a decided verdict may say
// better or worse.
func verdictTemplate(c *finding.Comparison, valued bool) string {
	if c.Counts != nil {
		return failureTemplate(c)
	}
	moved, stood := valueTemplates(c, valued)
	runs := "{blocks} " + quantity.Plural(c.Blocks, "block")
	if c.NotRandomised {
		runs = "{blocks} " + quantity.Plural(c.Blocks, "trial") + " a side, not randomised"
	}
	between := "{change}, between {low} and {high} ({level} confidence, " + runs + ")"
	if c.NoInterval {
		between = "{change} (" + runs + ")"
		if c.NoRatio {
			between, moved, stood = "("+runs+")", strings.Replace(moved, ": ", " ", 1), strings.Replace(stood, ": ", " ", 1)
		}
	}
	if c.OwnLoad {
		between += ", each at its own load"
	}
	if c.Degraded {
		between += ", on a degraded cluster"
	}
	switch c.Verdict {
	case finding.Better, finding.Worse:
		return initial(string(c.Verdict)) + ": " + moved + between + "."
	case finding.Equivalent:
		return "Equivalent within {study/margin}: " + stood + between + "."
	case finding.Changed:
		return "Different by more than {study/margin}: " + moved + between + "."
	case finding.Different:
		if c.NoInterval {
			return "Different: " + moved + between + "."
		}
		return "Different, size open: " + moved + between + "; the interval crosses the margin of {study/margin}."
	}
	return undecidedTemplate(c, stood+between)
}

// valueTemplates have both values: as a change, for verdicts only, and side by side. Without
// both values they name the arms only.
func valueTemplates(c *finding.Comparison, valued bool) (moved, stood string) {
	if !valued {
		return "{metric} with {arm} against {baseline} ", "{metric} with {arm} against {baseline} "
	}
	verb := "rises"
	if c.Ratio < 1 {
		verb = "falls"
	}
	return "{metric} " + verb + " from {from mean} with {baseline} to {to mean} with {arm}: ",
		"{metric} is {to mean} with {arm} and {from mean} with {baseline}: "
}

func initial(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func undecidedTemplate(c *finding.Comparison, against string) string {
	switch {
	case c.Blocks == 0:
		return "{metric} of {arm} and {baseline} cannot be compared: no block has a value for both."
	case c.Least > 0:
		return "Not enough " + unit(c) + " for a verdict: at least {least} are needed. " + against + "."
	}
	text := "Not decided: " + against
	switch {
	case c.More > 0:
		return text + "; about {more} more " + quantity.Plural(c.More, "block") + " are needed."
	case c.Reach != nil:
		return text + ". Too noisy for a margin of {study/margin}; {reach blocks} blocks can resolve a margin of {reach}."
	}
	return text + "."
}

// unit is the unit of a comparison's sample size.
func unit(c *finding.Comparison) string {
	if c.NotRandomised {
		return "trials"
	}
	return "blocks"
}

func failureTemplate(c *finding.Comparison) string {
	n := c.Counts
	if n.Failed+n.BaselineFailed == 0 {
		return "No operation failed ({metric}): none of {of} with {arm}, none of {base.of} with {baseline}. Upper bounds of the failure rate: {bound} and {base.bound} ({study/summary level} confidence)."
	}
	seen := "{failed} of {of} operations failed with {arm} and {base.failed} of {base.of} with {baseline} ({blocks} blocks)."
	switch c.Verdict {
	case finding.Better, finding.Worse:
		return initial(string(c.Verdict)) + " ({metric}): " + seen
	case finding.Different, finding.Changed:
		return "Different ({metric}): " + seen
	}
	if c.Least > 0 {
		return "Not enough " + unit(c) + " to decide on {metric}: at least {least} are needed; " + seen
	}
	return "Not decided on {metric}: " + seen
}

// Comparisons writes the sentence of each comparison.
func Comparisons(f *finding.Findings) {
	for _, list := range [][]finding.Comparison{f.Headlines, f.Exploratory} {
		for i := range list {
			Compare(f, &list[i])
		}
	}
}

// Compare writes the sentence of a comparison.
func Compare(f *finding.Findings, c *finding.Comparison) {
	from, to := finding.Key(c.Metric.Name, 0)+"/mean", finding.Key(c.Metric.Name, c.Arm)+"/mean"
	own, all := finding.Key(c.Metric.Name, c.Arm), finding.NewLedger(&finding.Findings{Margin: f.Margin, Summaries: of(f, c)})
	s := sentence.Scene{
		Names:  map[string]string{"metric": c.Metric.Name, "arm": f.Label(c.Arm), "baseline": f.Label(0)},
		Prefix: own,
		Number: func(id string) (sentence.Number, bool) {
			if field, found := strings.CutPrefix(id, own+"/"); found && id != from && id != to {
				return c.Number(field)
			}
			return all.Number(id)
		},
	}
	template := verdictTemplate(c, valued(f, c))
	template = strings.NewReplacer("{from mean}", "{"+from+"}", "{to mean}", "{"+to+"}").Replace(template)
	if c.LeansOnNormality {
		template += " The signed-rank test does not confirm it: the verdict relies on the noise model."
	}
	c.Sentence = s.Compose(template)
}

// of are the summaries of the two arms of a comparison.
func of(f *finding.Findings, c *finding.Comparison) (both []finding.Summary) {
	for _, arm := range []int{0, c.Arm} {
		if s := f.Summary(c.Metric.Name, arm); s != nil {
			both = append(both, *s)
		}
	}
	return both
}

// valued reports whether the values of both arms are known and consistent with the change:
// means that include outlying trials may not be.
func valued(f *finding.Findings, c *finding.Comparison) bool {
	from, to := f.Summary(c.Metric.Name, 0), f.Summary(c.Metric.Name, c.Arm)
	if from == nil || to == nil || c.Counts != nil {
		return false
	}
	if c.NoInterval {
		return true
	}
	ratio := to.Mean / from.Mean
	return ratio >= c.Low && ratio <= c.High
}
