package finding

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// Account is the exact decomposition of the change of a metric. The product of the ratios of
// its terms is the ratio of the whole: the logarithms add.
type Account struct {
	Identity string         `json:"identity"` // name of the equation
	Arm      int            `json:"arm"`
	Metric   measure.Metric `json:"metric"` // whose change is decomposed
	Blocks   int            `json:"blocks"` // blocks with all values
	Level    float64        `json:"level"`  // confidence level of each interval
	Whole    Term           `json:"whole"`  // change of the metric, mean over the blocks
	Terms    []Term         `json:"terms"`  // the last one may be the residual
	sentence.Sentence
}

// Term is a part of a change: the geometric mean over the blocks of the ratio by which it
// alone changes the whole.
type Term struct {
	Name       string  `json:"name"`
	Ratio      float64 `json:"ratio"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	NoInterval bool    `json:"noInterval,omitempty"` // fewer than two blocks: Low and High are equal to Ratio
	Inverse    bool    `json:"inverse,omitempty"`    // the whole is divided by it: a ratio above 1 is a decrease
	// Counters are the counters from which the term is computed.
	Counters []string `json:"counters,omitempty"`
	// Share is the part of the whole change that the term covers; negative for the opposite
	// direction.
	Share float64 `json:"share"`
	// Covers is set if the intervals of the term and of the whole exclude no change, and the term
	// covers at least half of the whole.
	Covers bool `json:"covers,omitempty"`
}

// unseen is the change, as a logarithm, that no number of a report shows.
const unseen = 5e-5

// Seen reports whether the term is large enough to be shown; others are a residual that is
// rounding, or what no arm changed.
func (t *Term) Seen() bool {
	for _, ratio := range []float64{t.Ratio, t.Low, t.High} {
		if math.Abs(math.Log(ratio)) >= unseen {
			return true
		}
	}
	return false
}

// Label is the name of the term. That of one by which the whole is divided says in which
// direction it changed: "lower response time" is a gain of throughput.
func (t *Term) Label() string {
	switch {
	case t.Inverse && t.Ratio > 1:
		return "lower " + t.Name
	case t.Inverse && t.Ratio < 1:
		return "higher " + t.Name
	}
	return t.Name
}

// Divided reports whether the change has at least two terms to be shown; one alone says the
// change twice.
func (a *Account) Divided() bool {
	seen := 0
	for i := range a.Terms {
		if t := &a.Terms[i]; t.Name != Residual && t.Seen() {
			seen++
		}
	}
	return seen > 1
}

// Residual is the name of the term for what an identity leaves open: the difference between
// the metric as measured and as its other terms give it.
const Residual = "residual"

// Moved is a counter that changed along with a decided effect, in order of rank.
type Moved struct {
	Arm    int    `json:"arm"`
	Metric string `json:"metric"`
	Grade  Grade  `json:"grade"`
	// With lists the counters that have the same change in every block up to a constant factor:
	// side effects of it, or it of them.
	With []string `json:"with,omitempty"`
	// Effect marks a counter that is arithmetically the effect itself, such as bytes per second
	// where operations per second changed. It explains nothing and is last.
	Effect bool `json:"effect,omitempty"`
	// Term is the term of an account that the counter is in; empty if there is none.
	Term string `json:"term,omitempty"`
	// Result is the result of an intervention on the counter; empty without one.
	Result Result `json:"result,omitempty"`
}

// Template is the account in words, to be composed with the numbers of a ledger:
// "+4.1 % from path length, +1.7 % from CPI, together +5.9 %". names are the names in it.
func (a *Account) Template(names map[string]string) string {
	prefix := "account:" + Key(a.Identity, a.Arm) + "/"
	var parts []string
	for i, term := range a.Terms {
		if math.Abs(math.Log(term.Ratio)) < unseen {
			continue
		}
		if term.Name == Residual {
			parts = append(parts, "residual {"+prefix+Residual+"}")
			continue
		}
		key := fmt.Sprintf("term %d", i)
		names[key] = term.Label()
		parts = append(parts, "{"+prefix+term.Name+"} from {"+key+"}")
	}
	names["whole"] = a.Metric.Name
	if len(parts) == 1 {
		return parts[0]
	}
	return strings.Join(parts, ", ") + ", together {" + prefix + "whole}"
}

// Number is the change by a term, by its name, or that of the whole; "TERM share" is the part
// that a term covers.
func (a *Account) Number(field string) (n sentence.Number, ok bool) {
	if a == nil {
		return n, false
	}
	if field == "whole" {
		return change(a.Whole.Ratio, a.Whole.Low, a.Whole.High), true
	}
	name, ofShare := strings.CutSuffix(field, " share")
	for _, t := range a.Terms {
		switch {
		case t.Name == field:
			return change(t.Ratio, t.Low, t.High), true
		case ofShare && t.Name == name:
			return share(math.Round(100*t.Share) / 100), true
		}
	}
	return n, false
}
