package claim

import (
	"fmt"
	"regexp"
	"strings"
)

// Faults of what is said without a number to recompute.
const (
	faultMargin    = "unsupported: no margin and no interval, not enough runs"
	faultMerge     = "medians, means and percentiles of several workers cannot be merged: use the merged histogram"
	faultCriterion = "criterion depends on test length: print the bound"
)

var (
	marginForm  = regexp.MustCompile(`within (?:(?:the|our|its|normal|usual|measurement|statistical) )*(?:margins? of error|error margins?|error bars?|error\b|noise\b|measurement (?:error|noise|uncertainty|accuracy)|run-to-run (?:variation|variance|noise))|statistically (?:in)?significant|statistical (?:in)?significance`)
	result      = regexp.MustCompile(`\b(?:was|were|is|are|remained|remains|stayed|stays|lies|lay|fell)\s+(?:\w+ )?(?:within|statistically)|\ball (?:\w+ )?within`)
	givenMargin = regexp.MustCompile(`^ ?(?:of |[(\[])[^0-9]{0,12}[0-9][0-9.\-]* ?%`)
	general     = regexp.MustCompile(`\b(?:whether|if|when|unless|would|could|might|probably|likely|seems?|never|not within|not (?:a )?statistically|any change|every change|a change|differences? that|changes that|should|must|cannot|what is within)\b`)
	mergeForms  = []*regexp.Regexp{
		regexp.MustCompile(`\b(?:median|mean|average)s? (?:latency |value |of )*(?:of|over|across|taken over)(?: [\w'\x{2019}-]+){0,6}? (?:means?|averages?|medians?|average latenc(?:y|ies)|mean latenc(?:y|ies)|percentiles?|quantiles?|p9[0-9.]*s?)\b`),
		regexp.MustCompile(`\b(?:averaged|averaging|averages|average)\b[^,;.%()]{0,60}\b(?:p9[0-9.]*s?|percentiles?|medians)\b`),
		regexp.MustCompile(`\b(?:p9[0-9.]*s?|percentiles?|medians)\b[^,;%()]{0,40}\b(?:averaged|was averaged|were averaged)\b`),
	}
	workers  = regexp.MustCompile(`\b(?:worker|client|thread|vm|guest|host|node|machine|instance|process|injector|driver|generator|container|pod|server|job)s?\b`)
	runs     = regexp.MustCompile(`\b(?:run|trial|repetition|block|iteration|round|day)s?\b`)
	outer    = regexp.MustCompile(`^(?:mean|average)s? `)
	inner    = regexp.MustCompile(`(?:means?|averages?|average latenc(?:y|ies)|mean latenc(?:y|ies))$`)
	criteria = []*regexp.Regexp{
		regexp.MustCompile(`\bfail\w*\b.{0,60}\b(?:any|a single|even one|one|at least one)\b.{0,40}\b(?:time[sd]?[ -]?outs?|fail\w*|errors?|errored)\b`),
		regexp.MustCompile(`\b(?:any|a single|even one|one)\b.{0,50}\b(?:time[sd]?[ -]?outs?|errors?|failed|failure)\b.{0,40}\b(?:fails?|failed|invalidates?|ends?|aborts?|stops?|fail)\b`),
		regexp.MustCompile(`\b(?:pass|passes|passed|valid|success\w*|succeeds)\b.{0,40}\b(?:no|without any|without a single|zero)\b.{0,30}\b(?:time[sd]?[ -]?outs?|failed|fails?|errors?)\b`),
	}
	testWords      = regexp.MustCompile(`\b(?:run|test|trial|level|step|benchmark|point)s?\b`)
	operationWords = regexp.MustCompile(`\b(?:request|operation|query|transaction|call)\b`)
	boundForm      = regexp.MustCompile(`\b(?:bound|rate (?:below|under|<|of at most)|fewer than one in|95 ?%|3/n)|<\s*[0-9.]+e-[0-9]`)
	noFailures     = regexp.MustCompile(`(?i)^(?:0|no|zero|none)$`)
)

// phrases audits statements that stand without values: within the margin of error,
// medians of means, criteria of failure.
func (a *auditor) phrases(s *sentence) {
	lower := strings.ToLower(s.text)
	a.margin(s, lower)
	a.merge(lower)
	a.criterion(s, lower)
	a.noFailure(s)
}

func (a *auditor) margin(s *sentence, lower string) {
	said := marginForm.FindString(lower)
	if said == "" || general.MatchString(lower) || !hasDigit(lower) && !result.MatchString(lower) {
		return
	}
	out := Claim{Said: said, Status: DoesNotHold, Computed: "no interval, no margin: not enough runs", Reason: faultMargin,
		Wording: "not enough runs to tell"}
	if a.doc.repeated {
		out = Claim{Said: said, Status: NotUnderstood, Reason: "the text states runs or an interval; those of this claim are not given here"}
		if size, limit, ok := s.margins(); ok {
			out.Computed = fmt.Sprintf("a change of %s and a margin of %s", size.printed, limit.printed)
			switch {
			case size.value-size.half <= limit.value+limit.half:
				out.Status, out.Reason = Holds, ""
			default:
				out.Status, out.Reason = DoesNotHold, "the change is larger than the margin"
			}
		}
	}
	if _, rest, _ := strings.Cut(lower, said); out.Status == DoesNotHold && givenMargin.MatchString(rest) {
		out = Claim{Said: said, Status: NotUnderstood, Reason: "the runs behind the margin are not given"}
	}
	a.add(out)
}

// margins are the one change and the one margin that a sentence gives in percent.
func (s *sentence) margins() (size, limit *quantity, ok bool) {
	for _, i := range s.numbers {
		q := s.tokens[i].num
		if !q.percent() || s.wordMatches(i+1, notChanges) {
			continue
		}
		before := s.textOf(max(0, i-4), i)
		switch {
		case i > 0 && s.tokens[i-1].mark == "\u00b1" || strings.Contains(before, "error of") || strings.Contains(before, "margin of") || strings.Contains(before, "noise of") || strings.HasSuffix(strings.TrimSpace(before), "+/"):
			if limit != nil {
				return nil, nil, false
			}
			limit = q
		default:
			if size != nil {
				return nil, nil, false
			}
			size = q
		}
	}
	return size, limit, size != nil && limit != nil
}

func (a *auditor) merge(lower string) {
	if general.MatchString(lower) || strings.Contains(lower, "histogram") || strings.Contains(lower, "rather than") || strings.Contains(lower, " not ") {
		return
	}
	for _, form := range mergeForms {
		said := form.FindString(lower)
		if said == "" {
			continue
		}
		out := Claim{Said: said, Status: DoesNotHold, Computed: "no quantile and no mean of the requests", Reason: faultMerge,
			Wording: "the quantile of the merged histogram"}
		switch {
		case !workers.MatchString(lower) || runs.MatchString(said):
			if !hasDigit(said) && runs.MatchString(lower) {
				return
			}
			out.Status, out.Reason, out.Wording = NotUnderstood, "what the values are of is not given: those of runs may be averaged, those of workers not", ""
		case outer.MatchString(said) && inner.MatchString(said):
			out.Status, out.Reason, out.Wording = NotUnderstood, "a mean of means is the mean only where all have as many operations", ""
		}
		a.add(out)
		return
	}
}

func (a *auditor) criterion(s *sentence, lower string) {
	for _, form := range criteria {
		said := form.FindString(lower)
		if said == "" || !testWords.MatchString(lower) && !operationWords.MatchString(said) {
			continue
		}
		if strings.Contains(lower, " not ") || strings.Contains(lower, "no longer") {
			return
		}
		out := Claim{Said: said, Status: NotUnderstood, Reason: faultCriterion + "; the number of operations is not given"}
		if n := a.doc.operations; n > 0 {
			out.Computed = fmt.Sprintf("0 failures in %s: rate < %.0e at 95 %%", grouped(n), 3/n)
			out.Status, out.Reason, out.Wording = DoesNotHold, faultCriterion, fmt.Sprintf("no failure in %s operations: failure rate below %.0e at 95 %% confidence", grouped(n), 3/n)
			if boundForm.MatchString(s.near) {
				out.Status, out.Reason, out.Wording = Holds, "", ""
			}
		}
		a.add(out)
		return
	}
}

var failureNoun = set("failure failures error errors timeout timeouts failed timed")

// noFailure checks the bound of "no failure in N operations: rate below B".
func (a *auditor) noFailure(s *sentence) {
	for k := 0; k+2 < len(s.tokens); k++ {
		if !noFailures.MatchString(s.tokens[k].text) || !failureNoun[s.wordAt(k+1)] || len(s.numbers) < 2 {
			continue
		}
		var n, bound *quantity
		for _, i := range s.numbers {
			q := s.tokens[i].num
			switch {
			case i <= k:
			case q.value >= 10 && n == nil && !q.percent():
				n = q
			case n != nil && bound == nil && q.value > 0 && q.value < 1:
				bound = q
			}
		}
		if n == nil || bound == nil {
			return
		}
		b := bound.span()
		if bound.percent() {
			b = b.times(0.01)
		}
		out := Claim{Said: s.textOf(k, len(s.tokens)), Status: Holds, Computed: fmt.Sprintf("3/%s = %.2g at 95 %%", grouped(n.value), 3/n.value)}
		if b.high < 3/n.value*(1-vaguely) {
			out.Status, out.Reason, out.Wording = DoesNotHold, "the bound is too low for so few operations", fmt.Sprintf("rate below %.2g at 95 %%", 3/n.value)
		}
		a.add(out)
		return
	}
}
