package finding

import (
	"regexp"
	"strconv"
	"strings"
)

// number patterns of published text: digits with commas, a decimal point.
const (
	numeral = `([0-9][0-9,]*(?:\.[0-9]+)?)`
	percent = `([+\-\x{2212}]?[0-9]+(?:\.[0-9]+)?)\s*%`
	word    = `(?:(over|more than|nearly|almost|about|up to)\s+)?`
	arrow   = `\s*(?:->|\x{2192}|to)\s*`
)

// Forms of statements in text. What none of them fits is not audited.
var (
	changeForm    = regexp.MustCompile(numeral + arrow + numeral + `[a-zA-Z/ ]*[:,(]+\s*` + word + percent + `(\s+(?:increase|higher|more|faster|decrease|lower|less|slower))?`)
	furtherForm   = regexp.MustCompile(`from ` + numeral + `[:,]? ` + percent + arrow + numeral + `, (?:and )?a further ` + percent + arrow + numeral)
	loopForm      = regexp.MustCompile(numeral + `(?: \+ ` + numeral + `)? (?:in flight|outstanding|threads), ` + numeral + `/s, (?:mean|average)(?: latency)? ` + numeral + ` ?(ns|us|ms|s)\b`)
	loadsForm     = regexp.MustCompile(`latency ` + numeral + arrow + numeral + ` ?(ns|us|ms|s) at ` + numeral + ` (?:/|and|->) ` + numeral)
	cpuForm       = regexp.MustCompile(`(?:CPIO|cost) ` + numeral + arrow + numeral + `, (?:IOPS|rate) ` + numeral + arrow + numeral + `[:,] ` + percent + ` (?:increase in )?CPU utili[sz]ation`)
	averageForm   = regexp.MustCompile(`average (?:over|of) the sweep ` + percent)
	marginForm    = regexp.MustCompile(`within (?:the )?(?:margin of )?error`)
	medianForm    = regexp.MustCompile(`median of (?:the )?(?:workers' )?means`)
	criterionForm = regexp.MustCompile(`fails (?:if|when) any [a-z]+ (?:times out|fails)[^0-9]*` + numeral + ` ?(M|million)?`)
)

// secondsOf are the units of time in text.
var secondsOf = map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}

// ParseStatements finds the statements in a published text that can be computed
// anew.
func ParseStatements(text string) []Statement {
	var all []Statement
	further := furtherForm.FindStringSubmatch(text)
	if further != nil {
		start, first, second := amount(further[1]), amount(further[3]), amount(further[5])
		all = append(all,
			ChangeStatement{From: start, To: first, Percent: further[2]},
			ChangeStatement{From: first, To: second, Percent: "-" + strings.TrimLeft(further[4], "+-\u2212"), Of: start})
	}
	for _, m := range cpuForm.FindAllStringSubmatch(text, -1) {
		all = append(all, CPUStatement{amount(m[1]), amount(m[2]), amount(m[3]), amount(m[4]), signedPercent("+", m[5])})
	}
	for _, m := range changeForm.FindAllStringSubmatch(text, -1) {
		all = append(all, changeOf(m, text))
	}
	for _, m := range loopForm.FindAllStringSubmatch(text, -1) {
		n := amount(m[1])
		if m[2] != "" {
			n += amount(m[2])
		}
		all = append(all, LoopStatement{InFlight: n, Rate: amount(m[3]), Mean: amount(m[4]) * secondsOf[m[5]]})
	}
	for _, m := range loadsForm.FindAllStringSubmatch(text, -1) {
		unit := secondsOf[m[3]]
		all = append(all, LatencyStatement{amount(m[1]) * unit, amount(m[2]) * unit, amount(m[4]), amount(m[5])})
	}
	if marginForm.MatchString(text) {
		all = append(all, MarginStatement{})
	}
	if m := medianForm.FindString(text); m != "" {
		all = append(all, MergeStatement{How: m})
	}
	if m := criterionForm.FindStringSubmatch(text); m != nil {
		operations := amount(m[1])
		if m[2] != "" {
			operations *= 1e6
		}
		if operations > 0 {
			all = append(all, CriterionStatement{Operations: operations})
		}
	}
	return all
}

func changeOf(m []string, text string) Statement {
	s := ChangeStatement{From: amount(m[1]), To: amount(m[2]), Word: m[3], Percent: m[4]}
	switch strings.TrimSpace(m[5]) {
	case "increase", "higher", "more", "faster":
		s.Percent = signedPercent("+", s.Percent)
	case "decrease", "lower", "less", "slower":
		s.Percent = signedPercent("-", s.Percent)
	}
	if average := averageForm.FindStringSubmatch(text); average != nil {
		return EstimandStatement{Peak: s, Average: average[1]}
	}
	return s
}

// signedPercent puts the sign that a word carries in front of a bare number.
func signedPercent(sign, percent string) string {
	if strings.HasPrefix(percent, "+") || strings.HasPrefix(percent, "-") || strings.HasPrefix(percent, "\u2212") {
		return percent
	}
	return sign + percent
}

func amount(text string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return 0
	}
	return v
}
