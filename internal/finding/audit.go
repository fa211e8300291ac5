package finding

import (
	"slices"
	"strings"

	"plimsoll/internal/study"
)

// Audit recomputes what is claimed: the figures that others published, and every
// sentence of our own. Of our exploratory sentences, which are many, only those
// that fail are listed.
func Audit(f *Findings, published []study.Figure) []Claim {
	var all []Claim
	for _, fig := range published {
		all = append(all, auditFigure(f, fig)...)
	}
	all = append(all, auditComparisons(f)...)
	all = append(all, auditScale(f)...)
	all = append(all, auditSentences(f)...)
	return append(all, lint(f)...)
}

// spoken is a sentence of the findings with its numbers.
type spoken struct {
	sentence string
	numbers  []Number
	minor    bool // listed only when it fails
}

func (f *Findings) spoken() []spoken {
	all := []spoken{{sentence: f.Sentence, numbers: f.Numbers}}
	for i := range f.Peaks {
		all = append(all, spoken{sentence: f.Peaks[i].Sentence, numbers: f.Peaks[i].Numbers})
	}
	if o := f.ScaleOut; o != nil {
		all = append(all, spoken{sentence: o.Sentence, numbers: o.Numbers})
		if o.Law != nil {
			all = append(all, spoken{sentence: o.Law.Sentence, numbers: o.Law.Numbers})
		}
	}
	for i := range f.Headlines {
		all = append(all, spoken{sentence: f.Headlines[i].Sentence, numbers: f.Headlines[i].Numbers})
	}
	for i := range f.Exploratory {
		all = append(all, spoken{f.Exploratory[i].Sentence, f.Exploratory[i].Numbers, true})
	}
	for i := range f.Explanations {
		all = append(all, spoken{sentence: f.Explanations[i].Sentence, numbers: f.Explanations[i].Numbers})
	}
	if r := f.Recommendation; r != nil {
		all = append(all, spoken{sentence: r.Sentence, numbers: r.Numbers})
	}
	if t := f.Tuning; t != nil {
		all = append(all, spoken{sentence: t.Sentence, numbers: t.Numbers})
	}
	return slices.DeleteFunc(all, func(s spoken) bool { return s.sentence == "" && len(s.numbers) == 0 })
}

// auditSentences looks up each number of our sentences and checks that no digit
// stands there without one.
func auditSentences(f *Findings) []Claim {
	l := newLedger(f)
	names := l.names()
	var all []Claim
	said := map[string]bool{}
	for _, s := range f.spoken() {
		claim := auditSentence(l, names, s)
		if s.minor && claim.Holds || said[claim.Sentence] && claim.Holds {
			continue
		}
		said[claim.Sentence] = true
		all = append(all, claim)
	}
	return all
}

func auditSentence(l *ledger, names *strings.Replacer, s spoken) Claim {
	claim := Claim{Sentence: s.sentence}
	// Names go first, so that a digit in one is neither mistaken for a number nor
	// for one without a source.
	rest := names.Replace(s.sentence)
	var computed []string
	fault := func(text string) {
		if claim.Fault == "" {
			claim.Fault = text
		}
	}
	var left strings.Builder
	for _, n := range s.numbers {
		text, ok := l.text(n.ID)
		if !ok {
			fault("nothing is called " + n.ID)
			continue
		}
		computed = append(computed, text)
		if text != n.Text {
			fault(n.ID + " is " + text + ", not " + n.Text)
		}
		before, after, found := strings.Cut(rest, text)
		if !found {
			fault("the sentence does not hold " + text + ", which is " + n.ID)
			continue
		}
		left.WriteString(before + " ")
		rest = after
	}
	left.WriteString(rest)
	if i := strings.IndexAny(left.String(), "0123456789"); i >= 0 {
		fault("a number without a source: " + around(left.String(), i))
	}
	if strings.Contains(rest, "?") || strings.Contains(left.String(), "?") {
		fault("a number is missing")
	}
	claim.Computed = strings.Join(computed, ", ")
	claim.Holds = claim.Fault == ""
	return claim
}

// around is the word about position i.
func around(s string, i int) string {
	from := strings.LastIndexByte(s[:i], ' ') + 1
	to := strings.IndexByte(s[i:], ' ')
	if to < 0 {
		return s[from:]
	}
	return s[from : i+to]
}

// names blanks out what may hold digits that are no results: labels of arms,
// metrics, factors.
func (l *ledger) names() *strings.Replacer {
	seen := map[string]bool{}
	for _, a := range l.findings.Arms {
		seen[a.Label] = true
		for factor := range a.Levels {
			seen[factor] = true
		}
	}
	for _, list := range [][]Comparison{l.findings.Headlines, l.findings.Exploratory} {
		for i := range list {
			seen[list[i].Metric.Name] = true
		}
	}
	for i := range l.findings.Summaries {
		seen[l.findings.Summaries[i].Metric.Name] = true
	}
	for i := range l.findings.Explanations {
		if c := l.findings.Explanations[i].Change; c != nil {
			seen[c.Factor] = true
		}
	}
	l.findings.peakNames(seen)
	if o := l.findings.ScaleOut; o != nil {
		seen[o.Refusal] = true
		if o.Law != nil {
			seen[o.Law.NoPeak] = true
		}
	}
	if t := l.findings.Tuning; t != nil {
		seen[t.Goal], seen[t.End] = true, true
		for i := range t.Rounds {
			if r := t.Rounds[i].Recommendation; r != nil {
				seen[r.Change.Factor] = true
			}
			if v := t.Rounds[i].Verification; v != nil {
				seen[v.Metric.Name] = true
			}
		}
	}
	var order []string
	for name := range seen {
		if strings.ContainsAny(name, "0123456789?") {
			order = append(order, name)
		}
	}
	// The replacer tries names in order, so longer ones come first: "p99.9" before
	// "p99".
	slices.SortFunc(order, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, name := range order {
		pairs = append(pairs, name, " ")
	}
	return strings.NewReplacer(pairs...)
}
