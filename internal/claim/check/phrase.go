package check

import (
	"fmt"
	"strings"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/judge"
	"plimsoll/internal/claim/number"
	"plimsoll/internal/pattern"
)

// Faults of statements without numbers.
const (
	faultMargin    = "unsupported: no margin and no interval, not enough runs"
	faultMerge     = "medians, means and percentiles of several workers cannot be merged: use the merged histogram"
	faultCriterion = "criterion depends on test length: print the bound"
)

var (
	marginForm  = pattern.Of(`within (?:(?:the|our|its|normal|usual|measurement|statistical) )*(?:margins? of error|error margins?|error bars?|error\b|noise\b|measurement (?:error|noise|uncertainty|accuracy)|run-to-run (?:variation|variance|noise))|statistically (?:in)?significant|statistical (?:in)?significance`)
	result      = pattern.Of(`\b(?:was|were|is|are|remained|remains|stayed|stays|lies|lay|fell)\s+(?:\w+ )?(?:within|statistically)|\ball (?:\w+ )?within`)
	givenMargin = pattern.Of(`^ ?(?:of |[(\[])[^0-9]{0,12}[0-9][0-9.\-]* ?%`)
	general     = pattern.Of(`\b(?:whether|if|when|unless|would|could|might|probably|likely|seems?|never|not within|not (?:a )?statistically|any change|every change|a change|differences? that|changes that|should|must|cannot|what is within)\b`)
	mergeForms  = []pattern.Pattern{
		pattern.Of(`\b(?:median|mean|average)s? (?:latency |value |of )*(?:of|over|across|taken over)(?: [\w'\x{2019}-]+){0,6}? (?:means?|averages?|medians?|average latenc(?:y|ies)|mean latenc(?:y|ies)|percentiles?|quantiles?|p9[0-9.]*s?)\b`),
		pattern.Of(`\b(?:averaged|averaging|averages|average)\b[^,;.%()]{0,60}\b(?:p9[0-9.]*s?|percentiles?|medians)\b`),
		pattern.Of(`\b(?:p9[0-9.]*s?|percentiles?|medians)\b[^,;%()]{0,40}\b(?:averaged|was averaged|were averaged)\b`),
	}
	workers  = pattern.Of(`\b(?:worker|client|thread|vm|guest|host|node|machine|instance|process|injector|driver|generator|container|pod|server|job)s?\b`)
	runs     = pattern.Of(`\b(?:run|trial|repetition|block|iteration|round|day)s?\b`)
	outer    = pattern.Of(`^(?:mean|average)s? `)
	inner    = pattern.Of(`(?:means?|averages?|average latenc(?:y|ies)|mean latenc(?:y|ies))$`)
	criteria = []pattern.Pattern{
		pattern.Of(`\bfail\w*\b.{0,60}\b(?:any|a single|even one|one|at least one)\b.{0,40}\b(?:time[sd]?[ -]?outs?|fail\w*|errors?|errored)\b`),
		pattern.Of(`\b(?:any|a single|even one|one)\b.{0,50}\b(?:time[sd]?[ -]?outs?|errors?|failed|failure)\b.{0,40}\b(?:fails?|failed|invalidates?|ends?|aborts?|stops?|fail)\b`),
		pattern.Of(`\b(?:pass|passes|passed|valid|success\w*|succeeds)\b.{0,40}\b(?:no|without any|without a single|zero)\b.{0,30}\b(?:time[sd]?[ -]?outs?|failed|fails?|errors?)\b`),
	}
	testWords      = pattern.Of(`\b(?:run|test|trial|level|step|benchmark|point)s?\b`)
	operationWords = pattern.Of(`\b(?:request|operation|query|transaction|call)\b`)
	boundForm      = pattern.Of(`\b(?:bound|rate (?:below|under|<|of at most)|fewer than one in|95 ?%|3/n)|<\s*[0-9.]+e-[0-9]`)
	noFailures     = pattern.Of(`(?i)^(?:0|no|zero|none)$`)
)

// phrases audits statements without values: within the margin of error, medians of means,
// failure criteria.
func phrases(a *auditor, s *grammar.Sentence) {
	lower := strings.ToLower(s.Text)
	margin(a, s, lower)
	merge(a, lower)
	criterion(a, s, lower)
	noFailure(a, s)
}

func margin(a *auditor, s *grammar.Sentence, lower string) {
	said := marginForm().FindString(lower)
	if said == "" || general().MatchString(lower) || !number.HasDigit(lower) && !result().MatchString(lower) {
		return
	}
	out := claim.Claim{Said: said, Status: claim.DoesNotHold, Computed: "no interval, no margin: not enough runs", Reason: faultMargin,
		Wording: "not enough runs to tell"}
	if a.doc.Repeated {
		out = claim.Claim{Said: said, Status: claim.NotUnderstood, Reason: "no runs or interval are given for this claim"}
		if size, limit, ok := margins(s); ok {
			out.Computed = fmt.Sprintf("a change of %s and a margin of %s", size.Printed, limit.Printed)
			switch {
			case size.Value-size.Half <= limit.Value+limit.Half:
				out.Status, out.Reason = claim.Holds, ""
			default:
				out.Status, out.Reason = claim.DoesNotHold, "the change is larger than the margin"
			}
		}
	}
	if _, rest, _ := strings.Cut(lower, said); out.Status == claim.DoesNotHold && givenMargin().MatchString(rest) {
		out = claim.Claim{Said: said, Status: claim.NotUnderstood, Reason: "no runs are given for the margin"}
	}
	a.add(out)
}

// margins are the one change and the one margin that a sentence gives in percent.
func margins(s *grammar.Sentence) (size, limit *number.Quantity, ok bool) {
	for _, i := range s.Numbers {
		q := s.Tokens[i].Num
		if !q.Percent() || s.WordMatches(i+1, grammar.NotChanges) {
			continue
		}
		before := s.TextOf(max(0, i-4), i)
		switch {
		case i > 0 && s.Tokens[i-1].Mark == "\u00b1" || strings.Contains(before, "error of") || strings.Contains(before, "margin of") || strings.Contains(before, "noise of") || strings.HasSuffix(strings.TrimSpace(before), "+/"):
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

func merge(a *auditor, lower string) {
	if general().MatchString(lower) || strings.Contains(lower, "histogram") || strings.Contains(lower, "rather than") || strings.Contains(lower, " not ") {
		return
	}
	for _, form := range mergeForms {
		said := form().FindString(lower)
		if said == "" {
			continue
		}
		out := claim.Claim{Said: said, Status: claim.DoesNotHold, Computed: "no quantile and no mean of the requests", Reason: faultMerge,
			Wording: "the quantile of the merged histogram"}
		switch {
		case !workers().MatchString(lower) || runs().MatchString(said):
			if !number.HasDigit(said) && runs().MatchString(lower) {
				return
			}
			out.Doubt("it is not stated what the values are of: values of runs may be averaged, those of workers may not")
		case outer().MatchString(said) && inner().MatchString(said):
			out.Doubt("a mean of means is the mean only if all have the same number of operations")
		}
		a.add(out)
		return
	}
}

func criterion(a *auditor, s *grammar.Sentence, lower string) {
	for _, form := range criteria {
		said := form().FindString(lower)
		if said == "" || !testWords().MatchString(lower) && !operationWords().MatchString(said) {
			continue
		}
		if strings.Contains(lower, " not ") || strings.Contains(lower, "no longer") {
			return
		}
		out := claim.Claim{Said: said, Status: claim.NotUnderstood, Reason: faultCriterion + "; the number of operations is not given"}
		if n := a.doc.Operations; n > 0 {
			out.Computed = fmt.Sprintf("0 failures in %s: rate < %.0e at 95 %%", judge.Grouped(n), 3/n)
			out.Refute(faultCriterion, fmt.Sprintf("no failure in %s operations: failure rate below %.0e at 95 %% confidence", judge.Grouped(n), 3/n))
			if boundForm().MatchString(s.Near) {
				out.Hold()
			}
		}
		a.add(out)
		return
	}
}

var failureNoun = number.Set("failure failures error errors timeout timeouts failed timed")

// noFailure checks the bound of "no failure in N operations: rate below B".
func noFailure(a *auditor, s *grammar.Sentence) {
	for k := 0; k+2 < len(s.Tokens); k++ {
		if !noFailures().MatchString(s.Tokens[k].Text) || !failureNoun[s.WordAt(k+1)] || len(s.Numbers) < 2 {
			continue
		}
		var n, bound *number.Quantity
		for _, i := range s.Numbers {
			q := s.Tokens[i].Num
			switch {
			case i <= k:
			case q.Value >= 10 && n == nil && !q.Percent():
				n = q
			case n != nil && bound == nil && q.Value > 0 && q.Value < 1:
				bound = q
			}
		}
		if n == nil || bound == nil {
			return
		}
		b := bound.Span()
		if bound.Percent() {
			b = b.Times(0.01)
		}
		out := claim.Claim{Said: s.TextOf(k, len(s.Tokens)), Status: claim.Holds, Computed: fmt.Sprintf("3/%s = %.2g at 95 %%", judge.Grouped(n.Value), 3/n.Value)}
		if b.High < 3/n.Value*(1-judge.Vaguely) {
			out.Refute("the bound is too low for so few operations", fmt.Sprintf("rate below %.2g at 95 %%", 3/n.Value))
		}
		a.add(out)
		return
	}
}
