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

// Quotation is a statement with the words that it was read from.
type Quotation struct {
	Text string
	Statement
}

// ParseStatements finds the statements in a published text that can be computed
// anew.
func ParseStatements(text string) []Quotation {
	var all []Quotation
	quote := func(form *regexp.Regexp, from string, read func(m []string) []Statement) {
		for _, m := range form.FindAllStringSubmatch(from, -1) {
			for _, s := range read(m) {
				all = append(all, Quotation{strings.TrimSpace(m[0]), s})
			}
		}
	}
	quote(furtherForm, text, furtherOf)
	quote(cpuForm, text, func(m []string) []Statement {
		return []Statement{CPUStatement{amount(m[1]), amount(m[2]), amount(m[3]), amount(m[4]), signedPercent("+", m[5])}}
	})
	// What a special form has read is not read again as a plain change.
	plain := cpuForm.ReplaceAllString(furtherForm.ReplaceAllString(text, " "), " ")
	quote(changeForm, plain, func(m []string) []Statement { return []Statement{changeOf(m, text)} })
	quote(loopForm, text, func(m []string) []Statement {
		return []Statement{LoopStatement{InFlight: amount(m[1]) + amount(m[2]), Rate: amount(m[3]), Mean: amount(m[4]) * secondsOf[m[5]]}}
	})
	quote(loadsForm, text, func(m []string) []Statement {
		unit := secondsOf[m[3]]
		return []Statement{LatencyStatement{amount(m[1]) * unit, amount(m[2]) * unit, amount(m[4]), amount(m[5])}}
	})
	quote(marginForm, text, func([]string) []Statement { return []Statement{MarginStatement{}} })
	quote(medianForm, text, func(m []string) []Statement { return []Statement{MergeStatement{How: m[0]}} })
	quote(criterionForm, text, func(m []string) []Statement {
		operations := amount(m[1])
		if m[2] != "" {
			operations *= 1e6
		}
		if operations == 0 {
			return nil
		}
		return []Statement{CriterionStatement{Operations: operations}}
	})
	return all
}

// furtherOf reads two changes in a row, the second of which may be meant in points
// of where the first began.
func furtherOf(m []string) []Statement {
	start, first, second := amount(m[1]), amount(m[3]), amount(m[5])
	return []Statement{
		ChangeStatement{From: start, To: first, Percent: m[2]},
		ChangeStatement{From: first, To: second, Percent: "-" + strings.TrimLeft(m[4], "+-\u2212"), Of: start},
	}
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
