package claim

// releases are words before the number of a version or the name of a test.
var releases = set(`version release releases versions kernel build jdk java query raid level gen generation linux windows ubuntu debian centos rhel python postgresql postgres mysql redis spark kafka esxi vsphere pcie http tls q
	january february march april may june july august september october november december jan feb mar apr jun jul aug sep oct nov dec figure fig table section chapter page step phase scenario case test`)

// findNames marks numbers that are part of a name: "release 3.2", "JDK 21 ... JDK 11".
func (s *sentence) findNames() {
	after := map[string][]int{}
	for _, i := range s.numbers {
		q, w := s.tokens[i].num, s.wordAt(i-1)
		if s.isSpread(i) || i > 0 && s.tokens[i-1].mark == "#" {
			s.condition[i] = true
			continue
		}
		if w == "" || q.sign != 0 || q.unit.dim != "" && q.unit.dim != dimCount || q.times || q.value >= 1000 {
			continue
		}
		if releases[w] {
			s.condition[i] = true
			continue
		}
		if c := s.tokens[i-1].text[0]; c >= 'A' && c <= 'Z' && i > 1 && metricWords[w] == "" && units[s.tokens[i-1].text].dim == "" {
			after[w] = append(after[w], i)
		}
	}
	for _, all := range after {
		for _, i := range all {
			if len(all) > 1 {
				s.condition[i] = true
			}
		}
	}
}

var spreads = set("deviation stddev error spread variance variation jitter margin tolerance cv")

// isSpread tells whether a number is a spread of values and no value: "a standard
// deviation of 0.05 s".
func (s *sentence) isSpread(i int) bool {
	for k := i - 1; k >= max(0, i-2); k-- {
		if spreads[s.wordAt(k)] || s.tokens[k].mark == "\u00b1" {
			return s.wordAt(k+1) == "of" || k == i-1
		}
	}
	return false
}
