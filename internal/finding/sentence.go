package finding

import (
	"strings"
)

// scene is what a sentence may name besides numbers.
type scene struct {
	names  map[string]string // "arm", "baseline", "metric", ... to their text
	prefix string            // of the numbers without one: "iops@1"
	text   func(id string) (string, bool)
}

// compose fills in a template. {name} is a name of the scene, and {field} or
// {prefix/field} a number, which is looked up by the same table that the audit
// uses.
func (s scene) compose(template string) (sentence string, numbers []Number) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			return b.String(), numbers
		}
		key, after, _ := strings.Cut(rest, "}")
		template = after
		if name, ok := s.names[key]; ok {
			b.WriteString(name)
			continue
		}
		id := key
		if !strings.Contains(key, "/") {
			id = s.prefix + "/" + key
		}
		text, ok := s.text(id)
		if !ok {
			b.WriteString("?") // the audit refuses a sentence with a hole
			continue
		}
		numbers = append(numbers, Number{ID: id, Text: text})
		b.WriteString(text)
	}
}

// verdictTemplate is the sentence of a comparison. Only a decided verdict may say
// better or worse.
func verdictTemplate(c *Comparison, valued bool) string {
	if c.Counts != nil {
		return failureTemplate(c)
	}
	moved, stood := valueTemplates(c, valued)
	runs := "{blocks} " + plural(c.Blocks, "block")
	if c.NotRandomised {
		runs = "{blocks} " + plural(c.Blocks, "trial") + " a side, not randomised"
	}
	between := "{change}, between {low} and {high} ({level} confidence, " + runs + ")"
	if c.NoInterval {
		between = "{change} (" + runs + ")"
		if c.Ratio == 1 { // a baseline of 0 has no ratio
			between, moved, stood = "("+runs+")", strings.Replace(moved, ": ", " ", 1), strings.Replace(stood, ": ", " ", 1)
		}
	}
	if c.OwnLoad {
		between += ", each at its own load"
	}
	switch c.Verdict {
	case Better, Worse:
		return initial(string(c.Verdict)) + ": " + moved + between + "."
	case Equivalent:
		return "Equivalent within {study/margin}: " + stood + between + "."
	case Changed:
		return "Different by more than {study/margin}: " + moved + between + "."
	case Different:
		if c.NoInterval {
			return "Different: " + moved + between + "."
		}
		return "Different, size open: " + moved + between + "; whether by more than {study/margin} is open."
	}
	return undecidedTemplate(c, stood+between)
}

// valueTemplates name both values: as a move, which only a verdict may tell, and
// side by side. Without both, the arms alone are named.
func valueTemplates(c *Comparison, valued bool) (moved, stood string) {
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

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func undecidedTemplate(c *Comparison, against string) string {
	switch {
	case c.Blocks == 0:
		return "There is not enough data to compare {metric} of {arm} and {baseline}: no block holds it for both."
	case c.Least > 0:
		return "Not decided, for want of " + c.unit() + ": a verdict takes at least {least}. " + against + "."
	}
	text := "Not decided: " + against
	switch {
	case c.More > 0:
		return text + "; about {more} more " + plural(c.More, "block") + " would decide."
	case c.Reach != nil:
		return text + ". Too noisy for a margin of {study/margin}: a margin of {reach} is within reach in {reach blocks} blocks."
	}
	return text + "."
}

// unit is what a comparison counts.
func (c *Comparison) unit() string {
	if c.NotRandomised {
		return "trials"
	}
	return "blocks"
}

func failureTemplate(c *Comparison) string {
	n := c.Counts
	if n.Failed+n.BaselineFailed == 0 {
		return "No operation failed ({metric}): none of {of} with {arm}, which bounds the share that fails at {bound}, and none of {base.of} with {baseline}, which bounds it at {base.bound} ({study/summary level} confidence)."
	}
	seen := "{failed} of {of} operations failed with {arm} and {base.failed} of {base.of} with {baseline} ({blocks} blocks)."
	switch c.Verdict {
	case Better, Worse:
		return initial(string(c.Verdict)) + ", by {metric}: " + seen
	case Different, Changed:
		return "Different, by {metric}: " + seen
	}
	if c.Least > 0 {
		return "Not decided on {metric}, for want of " + c.unit() + ": a verdict takes at least {least}; " + seen
	}
	return "Not decided on {metric}: " + seen
}

// say writes the sentence of a comparison.
func (c *Comparison) say(f *Findings) {
	s := scene{
		names:  map[string]string{"metric": c.Metric.Name, "arm": f.label(c.Arm), "baseline": f.label(0)},
		prefix: place(c.Metric.Name, c.Arm),
	}
	from, to := place(c.Metric.Name, 0)+"/mean", place(c.Metric.Name, c.Arm)+"/mean"
	s.text = func(id string) (string, bool) {
		if id == from || id == to {
			sum := f.summary(c.Metric.Name, map[string]int{from: 0, to: c.Arm}[id])
			if sum == nil {
				return "", false
			}
			return sum.text("mean")
		}
		if field, found := strings.CutPrefix(id, s.prefix+"/"); found {
			return c.text(field)
		}
		if field, found := strings.CutPrefix(id, "study/"); found {
			return f.text(field)
		}
		return "", false
	}
	template := verdictTemplate(c, c.valued(f))
	template = strings.NewReplacer("{from mean}", "{"+from+"}", "{to mean}", "{"+to+"}").Replace(template)
	if c.LeansOnNormality {
		template += " The signed-rank test does not confirm it, so this leans on the model of the noise."
	}
	c.Sentence, c.Numbers = s.compose(template)
}

// valued says whether the values of both arms are known and agree with the change:
// where some trials have no weight, means of all of them may not.
func (c *Comparison) valued(f *Findings) bool {
	from, to := f.summary(c.Metric.Name, 0), f.summary(c.Metric.Name, c.Arm)
	if from == nil || to == nil || c.Counts != nil {
		return false
	}
	if c.NoInterval {
		return true
	}
	ratio := to.Mean / from.Mean
	return ratio >= c.Low && ratio <= c.High
}

func (f *Findings) summary(metric string, arm int) *Summary {
	for i := range f.Summaries {
		if s := &f.Summaries[i]; s.Arm == arm && s.Metric.Name == metric {
			return s
		}
	}
	return nil
}

func (f *Findings) label(arm int) string {
	if arm < 0 || arm >= len(f.Arms) {
		return "an unknown arm"
	}
	return called(f.Arms[arm].Label)
}

// called is the label of an arm inside a sentence.
func called(label string) string {
	if label == "baseline" {
		return "the baseline"
	}
	return label
}
