// Package audit recomputes the claims of findings: published figures, comparisons, the
// scale-out, and every number of every sentence.
package audit

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/sentence"
	"plimsoll/internal/study"
)

// Of recomputes all claims: published figures, and every sentence of the findings. Of
// exploratory sentences only failures are listed.
func Of(f *finding.Findings, published []study.Figure) []finding.Claim {
	var all []finding.Claim
	for _, fig := range published {
		all = append(all, auditFigure(f, fig)...)
	}
	all = append(all, auditComparisons(f)...)
	all = append(all, auditScale(f)...)
	all = append(all, auditSentences(f)...)
	return append(all, lint(f)...)
}

// sentencesOf are the sentences of the findings; of the minor ones only failures are listed.
func sentencesOf(f *finding.Findings) (all, minor []sentence.Sentence) {
	all = append(all, f.Sentence)
	for i := range f.Peaks {
		all = append(all, f.Peaks[i].Sentence)
	}
	if o := f.ScaleOut; o != nil {
		all = append(all, o.Sentence)
		if o.Law != nil {
			all = append(all, o.Law.Sentence)
		}
	}
	for i := range f.Headlines {
		all = append(all, f.Headlines[i].Sentence)
	}
	for i := range f.Exploratory {
		minor = append(minor, f.Exploratory[i].Sentence)
	}
	for i := range f.Accounts {
		all = append(all, f.Accounts[i].Sentence)
	}
	for i := range f.Explanations {
		all = append(all, f.Explanations[i].Sentence)
	}
	for i := range f.Interventions {
		all = append(all, f.Interventions[i].Sentence)
	}
	if r := f.Recommendation; r != nil {
		all = append(all, r.Sentence)
	}
	if t := f.Tuning; t != nil {
		all = append(all, t.Sentence)
	}
	return all, minor
}

// auditSentences looks up each number of the sentences and checks that no other digits occur.
func auditSentences(f *finding.Findings) []finding.Claim {
	l, names := finding.NewLedger(f), names(f)
	all, minor := sentencesOf(f)
	var claims []finding.Claim
	said := map[string]bool{}
	for i, s := range append(all, minor...) {
		if s.Text == "" && len(s.Numbers) == 0 {
			continue
		}
		claim := auditSentence(l, names, s)
		if claim.Holds && (i >= len(all) || said[claim.Sentence]) {
			continue
		}
		said[claim.Sentence] = true
		claims = append(claims, claim)
	}
	return claims
}

func auditSentence(l *finding.Ledger, names *strings.Replacer, s sentence.Sentence) finding.Claim {
	claim := finding.Claim{Sentence: s.Text}
	var computed []string
	fault := func(text string) {
		if claim.Fault == "" {
			claim.Fault = text
		}
	}
	for _, n := range s.Numbers {
		want, ok := l.Number(n.ID)
		if !ok {
			fault("nothing is called " + n.ID)
			continue
		}
		computed = append(computed, want.Text)
		if want.Text != n.Text || want.Value != n.Value {
			fault(n.ID + " is " + want.Text + ", not " + n.Text)
		}
	}
	numbers := 0
	var left strings.Builder
	for _, x := range s.Spans() {
		if x.Number != nil {
			numbers++
			left.WriteString(" ")
			continue
		}
		// A digit in a name is not a number.
		left.WriteString(names.Replace(x.Text))
	}
	if numbers < len(s.Numbers) {
		fault("a number is not where the template has it")
	}
	if i := strings.IndexAny(left.String(), "0123456789"); i >= 0 {
		fault("a number without a source: " + around(left.String(), i))
	}
	if strings.Contains(left.String(), "?") {
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

// nameReasons adds the names in explanations and accounts.
func nameReasons(f *finding.Findings, seen map[string]bool) {
	for i := range f.Accounts {
		for _, t := range f.Accounts[i].Terms {
			seen[t.Name] = true
		}
	}
	for _, v := range f.Interventions {
		seen[v.Counter], seen[v.Factor+"="+v.Free], seen[v.Factor+"="+v.Pinned] = true, true, true
	}
	for i := range f.Explanations {
		for _, name := range f.Explanations[i].Names {
			seen[name] = true
		}
		if c := f.Explanations[i].Change; c != nil {
			seen[c.Factor] = true
		}
	}
}

// names removes names with digits that are not results: labels of arms, metrics, factors.
func names(f *finding.Findings) *strings.Replacer {
	seen := map[string]bool{}
	for _, a := range f.Arms {
		seen[a.Label] = true
		for factor := range a.Levels {
			seen[factor] = true
		}
	}
	for _, list := range [][]finding.Comparison{f.Headlines, f.Exploratory} {
		for i := range list {
			seen[list[i].Metric.Name] = true
		}
	}
	for i := range f.Summaries {
		seen[f.Summaries[i].Metric.Name] = true
	}
	nameReasons(f, seen)
	for _, p := range f.Peaks {
		seen[p.Limiting], seen[p.Why] = true, true
	}
	for _, end := range f.TileEnds {
		seen[end.Reason] = true
	}
	if o := f.ScaleOut; o != nil {
		seen[o.Refusal] = true
		if o.Law != nil {
			seen[o.Law.NoPeak] = true
		}
	}
	if t := f.Tuning; t != nil {
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
	slices.SortFunc(order, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, name := range order {
		pairs = append(pairs, name, " ")
	}
	return strings.NewReplacer(pairs...)
}
