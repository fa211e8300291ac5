package wording

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// Answer sets the answer: the verdict on the first headline.
func Answer(f *finding.Findings, headline string) {
	s := sentence.Scene{Names: map[string]string{"metric": headline, "baseline": f.Label(0)}, Number: finding.NewLedger(f).Number}
	var of []*finding.Comparison
	for i := range f.Headlines {
		if f.Headlines[i].Metric.Name == headline {
			of = append(of, &f.Headlines[i])
		}
	}
	switch {
	case len(f.Peaks) > 0 && (len(of) == 0 || headline == measure.PeakMetric().Name && of[0].Blocks == 0):
		f.Sentence = sentence.Sentence{}
		for _, p := range f.Peaks {
			f.Sentence = f.Sentence.Then(p.Sentence)
		}
		return
	case f.ScaleOut != nil && f.ScaleOut.Metric.Name == headline:
		f.Sentence = f.ScaleOut.Sentence
		return
	}
	switch len(of) {
	case 0:
		f.Sentence = s.Compose(singleTemplate(f, headline))
	case 1:
		f.Sentence = of[0].Sentence
	default:
		f.Sentence = s.Compose(manyTemplate(of, s.Names, f))
	}
}

// singleTemplate is for a study of one arm, without comparisons.
func singleTemplate(f *finding.Findings, headline string) string {
	for i := range f.Summaries {
		sum := &f.Summaries[i]
		if sum.Metric.Name != headline || sum.Arm != 0 {
			continue
		}
		at := finding.Key(headline, 0)
		if sum.Low == sum.High {
			trials := "valid trials"
			if sum.Trials == 1 {
				trials = "valid trial"
			}
			return fmt.Sprintf("{metric} is {%s/mean} with {baseline}, in {%s/trials} %s.", at, at, trials)
		}
		return fmt.Sprintf("{metric} is {%s/mean} with {baseline}, between {%s/from} and {%s/to} at {study/summary level} confidence ({%s/trials} trials).", at, at, at, at)
	}
	return "No valid trial has a value of {metric}; see the certificate."
}

// manyTemplate names the arm with the largest gain, then every arm by verdict.
func manyTemplate(of []*finding.Comparison, names map[string]string, f *finding.Findings) string {
	text := gainTemplate(of, names, f)
	var parts []string
	for _, v := range []finding.Verdict{finding.Better, finding.Worse, finding.Changed, finding.Different, finding.Equivalent, finding.NotEnoughRuns} {
		var arms []string
		for _, c := range of {
			if c.Verdict != v {
				continue
			}
			key := fmt.Sprintf("arm %d", c.Arm)
			names[key] = f.Label(c.Arm)
			at := finding.Key(c.Metric.Name, c.Arm)
			switch {
			case v == finding.NotEnoughRuns:
				arms = append(arms, "{"+key+"}")
			case c.NoInterval || c.Counts != nil:
				arms = append(arms, fmt.Sprintf("{%s} ({%s/blocks} blocks)", key, at))
			default:
				arms = append(arms, fmt.Sprintf("{%s} ({%s/change}, between {%s/low} and {%s/high})", key, at, at, at))
			}
		}
		if len(arms) > 0 {
			parts = append(parts, phrase(v)+" with "+strings.Join(arms, ", "))
		}
	}
	return text + "Against {baseline}, {metric} is " + strings.Join(parts, "; ") + "."
}

// gainTemplate is the sentence on the arm with the largest gain; empty if none is better.
func gainTemplate(of []*finding.Comparison, names map[string]string, f *finding.Findings) string {
	var most *finding.Comparison
	for _, c := range of {
		if c.Verdict == finding.Better && !c.NoInterval && valued(f, c) && (most == nil || math.Abs(math.Log(c.Ratio)) > math.Abs(math.Log(most.Ratio))) {
			most = c
		}
	}
	if most == nil {
		return ""
	}
	names["most"] = f.Label(most.Arm)
	return fmt.Sprintf("The largest gain in {metric} is with {most}: {%s/mean} against {%s/mean} with {baseline}. ", finding.Key(most.Metric.Name, most.Arm), finding.Key(most.Metric.Name, 0))
}

// phrase is a verdict within a sentence.
func phrase(v finding.Verdict) string {
	if v == finding.NotEnoughRuns {
		return "not decided"
	}
	return string(v)
}
