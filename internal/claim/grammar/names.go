package grammar

import (
	"plimsoll/internal/claim/number"
)

// releases are words before the number of a version or the name of a test.
var releases = number.Set(`version release releases versions kernel build jdk java query raid level gen generation linux windows ubuntu debian centos rhel python postgresql postgres mysql redis spark kafka esxi vsphere pcie http tls q
	january february march april may june july august september october november december jan feb mar apr jun jul aug sep oct nov dec figure fig table section chapter page step phase scenario case test`)

// findNames marks numbers that are part of a name: "release 3.2", "JDK 21 ... JDK 11".
func findNames(s *Sentence) {
	after := map[string][]int{}
	for _, i := range s.Numbers {
		q, w := s.Tokens[i].Num, s.WordAt(i-1)
		if isSpread(s, i) || i > 0 && s.Tokens[i-1].Mark == "#" {
			s.Condition[i] = true
			continue
		}
		if w == "" || q.Sign != 0 || q.Unit.Dim != "" && q.Unit.Dim != number.DimCount || q.Times || q.Value >= 1000 {
			continue
		}
		if releases[w] {
			s.Condition[i] = true
			continue
		}
		if c := s.Tokens[i-1].Text[0]; c >= 'A' && c <= 'Z' && i > 1 && number.MetricWords[w] == "" && number.Units[s.Tokens[i-1].Text].Dim == "" {
			after[w] = append(after[w], i)
		}
	}
	for _, all := range after {
		for _, i := range all {
			if len(all) > 1 {
				s.Condition[i] = true
			}
		}
	}
}

var spreads = number.Set("deviation stddev error spread variance variation jitter margin tolerance cv")

// isSpread reports whether a number is a measure of dispersion rather than a value: "a
// standard deviation of 0.05 s".
func isSpread(s *Sentence, i int) bool {
	for k := i - 1; k >= max(0, i-2); k-- {
		if spreads[s.WordAt(k)] || s.Tokens[k].Mark == "\u00b1" {
			return s.WordAt(k+1) == "of" || k == i-1
		}
	}
	return false
}
