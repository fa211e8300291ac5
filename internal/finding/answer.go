package finding

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/measure"
)

// answer writes the sentence on top: the verdict on the first headline.
func (f *Findings) answer(headline string) {
	s := scene{names: map[string]string{"metric": headline, "baseline": f.label(0)}, text: newLedger(f).text}
	s.names["question"] = f.Question
	var of []*Comparison
	for i := range f.Headlines {
		if f.Headlines[i].Metric.Name == headline {
			of = append(of, &f.Headlines[i])
		}
	}
	switch {
	case len(f.Peaks) > 0 && (len(of) == 0 || headline == measure.PeakMetric().Name && of[0].Blocks == 0):
		f.Sentence, f.Numbers = "", nil
		for _, p := range f.Peaks {
			f.Sentence, f.Numbers = strings.TrimSpace(f.Sentence+" "+p.Sentence), append(f.Numbers, p.Numbers...)
		}
		return
	case f.ScaleOut != nil && f.ScaleOut.Metric.Name == headline:
		f.Sentence, f.Numbers = f.ScaleOut.Sentence, f.ScaleOut.Numbers
		return
	}
	switch len(of) {
	case 0:
		f.Sentence, f.Numbers = s.compose(f.singleTemplate(headline))
	case 1:
		f.Sentence, f.Numbers = of[0].Sentence, of[0].Numbers
	default:
		f.Sentence, f.Numbers = s.compose(manyTemplate(of, s.names, f))
	}
}

// singleTemplate is for a study of one arm, which compares nothing.
func (f *Findings) singleTemplate(headline string) string {
	for i := range f.Summaries {
		sum := &f.Summaries[i]
		if sum.Metric.Name != headline || sum.Arm != 0 {
			continue
		}
		at := place(headline, 0)
		if sum.Low == sum.High {
			trials := "valid trials"
			if sum.Trials == 1 {
				trials = "valid trial"
			}
			return fmt.Sprintf("{metric} is {%s/mean} with {baseline}, in {%s/trials} %s.", at, at, trials)
		}
		return fmt.Sprintf("{metric} is {%s/mean} with {baseline}, between {%s/from} and {%s/to} at {study/summary level} confidence ({%s/trials} trials).", at, at, at, at)
	}
	return "No valid trial gave {metric}: the certificate says why."
}

// manyTemplate names the arm with the largest gain, then every arm by verdict.
func manyTemplate(of []*Comparison, names map[string]string, f *Findings) string {
	text := gainTemplate(of, names, f)
	var parts []string
	for _, v := range []Verdict{Better, Worse, Changed, Different, Equivalent, NotEnoughRuns} {
		var arms []string
		for _, c := range of {
			if c.Verdict != v {
				continue
			}
			key := fmt.Sprintf("arm %d", c.Arm)
			names[key] = f.label(c.Arm)
			at := place(c.Metric.Name, c.Arm)
			switch {
			case v == NotEnoughRuns:
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

// gainTemplate is the sentence on the arm that is better by the most; empty where
// none is better.
func gainTemplate(of []*Comparison, names map[string]string, f *Findings) string {
	var most *Comparison
	for _, c := range of {
		if c.Verdict == Better && !c.NoInterval && c.valued(f) && (most == nil || math.Abs(math.Log(c.Ratio)) > math.Abs(math.Log(most.Ratio))) {
			most = c
		}
	}
	if most == nil {
		return ""
	}
	names["most"] = f.label(most.Arm)
	return fmt.Sprintf("{metric} gains most with {most}: {%s/mean} against {%s/mean} with {baseline}. ", place(most.Metric.Name, most.Arm), place(most.Metric.Name, 0))
}

// phrase is a verdict in the middle of a sentence.
func phrase(v Verdict) string {
	if v == NotEnoughRuns {
		return "not decided"
	}
	return string(v)
}
