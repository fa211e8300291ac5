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
func verdictTemplate(c *Comparison) string {
	if c.Counts != nil {
		return failureTemplate(c)
	}
	runs := "{blocks} " + plural(c.Blocks, "block")
	if c.NotRandomised {
		runs = "{blocks} " + plural(c.Blocks, "trial") + " a side, not randomised"
	}
	between := ", between {low} and {high} ({level} confidence, " + runs + ")"
	if c.NoInterval {
		between = " (" + runs + ")"
	}
	against := "{change} with {arm} against {baseline}" + between
	if c.NoInterval && c.Ratio == 1 { // a baseline of 0 has no ratio
		against = "{arm} against {baseline}" + between
	}
	own := ""
	if c.OwnLoad {
		own = ", each at its own load"
	}
	switch c.Verdict {
	case Better, Worse:
		return "{metric} is " + string(c.Verdict) + ": " + against + own + "."
	case Equivalent:
		return "{metric} is equivalent to within {study/margin}: " + against + own + "."
	case Changed:
		return "{metric} differs: " + against + own + ", by more than {study/margin}."
	case Different:
		if c.NoInterval {
			return "{metric} differs: " + against + own + "."
		}
		return "{metric} differs: " + against + own + "; whether by more than {study/margin} is open."
	}
	return undecidedTemplate(c, against+own)
}

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
		return "There are too few " + c.unit() + " for a verdict on {metric}, which takes at least {least}: " + against + "."
	}
	text := "There are not enough runs to say whether {metric} differs: " + against
	switch {
	case c.More > 0:
		return text + "; about {more} more " + plural(c.More, "block") + " would decide."
	case c.Reach != nil:
		return text + ". It is too noisy for a margin of {study/margin}: a margin of {reach} is within reach in {reach blocks} blocks."
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
		return "{metric} is " + string(c.Verdict) + ": " + seen
	case Different, Changed:
		return "{metric} differs: " + seen
	}
	if c.Least > 0 {
		return "There are too few " + c.unit() + " for a verdict on {metric}, which takes at least {least}: " + seen
	}
	return "There are not enough runs to say whether {metric} differs: " + seen
}

// say writes the sentence of a comparison.
func (c *Comparison) say(f *Findings) {
	s := scene{
		names:  map[string]string{"metric": c.Metric.Name, "arm": f.label(c.Arm), "baseline": f.label(0)},
		prefix: place(c.Metric.Name, c.Arm),
	}
	s.text = func(id string) (string, bool) {
		if field, found := strings.CutPrefix(id, s.prefix+"/"); found {
			return c.text(field)
		}
		if field, found := strings.CutPrefix(id, "study/"); found {
			return f.text(field)
		}
		return "", false
	}
	template := verdictTemplate(c)
	if c.LeansOnNormality {
		template += " The signed-rank test does not confirm it, so this leans on the model of the noise."
	}
	c.Sentence, c.Numbers = s.compose(template)
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
