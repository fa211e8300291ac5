package claim

// ofPair tells whether a change may be one of a pair, by what both are said to be of.
func (s *sentence) ofPair(one *saying, p *pair) bool {
	if d := s.tokens[p.a].num.unit.dim; one.kind == asDifference && one.num.unit.dim != d && (d != "" && d != dimCount || one.num.unit.dim != "" && one.num.unit.dim != dimCount) {
		return false
	}
	if s.tokens[p.a].num.unit.dim == "" && one.kind == asFactor && one.of {
		return true // "2.5x the IOPS: 690k compared with 276k"
	}
	if one.metric != "" && p.metric != "" && one.metric != p.metric && !(p.metric == metricCost && one.metric == metricCPU) && !s.sameThing(one, p) {
		return false
	}
	objects := s.objects(one)
	if len(objects) == 0 || s.tokens[p.a].num.unit.dim == "" {
		return true
	}
	for _, w := range objects {
		if m := metricWords[w]; m != "" && (m == p.metric || p.metric == "" || m == metricCPU && p.metric == metricCost) {
			return true
		}
		for _, i := range []int{p.a, p.b} {
			for _, n := range s.tokens[i].num.nouns {
				if n == w || n == singular(w) {
					return true
				}
			}
			if units[w].dim != "" && units[w].dim == s.tokens[i].num.unit.dim {
				return true
			}
		}
		for k := p.from - 1; k >= 0 && k >= p.from-12; k-- {
			if k < one.from && s.wordAt(k) == w {
				return true
			}
		}
	}
	return false
}

// objects are the nouns of which a change says that there are more or fewer: "98 %
// fewer allocations".
func (s *sentence) objects(one *saying) []string {
	var all []string
	if w := s.wordAt(one.to); !comparatives[w] && w != "additional" && w != "extra" {
		return nil
	}
	for k := one.to + 1; k < min(len(s.tokens), one.to+4); k++ {
		w := s.wordAt(k)
		if w == "" || function[w] || links[w] || clauses[w] {
			break
		}
		all = append(all, w)
	}
	return all
}

// sameThing tells whether two metrics that differ by name are one by unit: the time
// of a request, or CPU in percent.
func (s *sentence) sameThing(one *saying, p *pair) bool {
	if d := s.tokens[p.a].num.unit.dim; one.metric == metricOther && (d == dimTime || d == dimBytes || d == dimByteSec || d == dimBitSec) {
		return false
	}
	return one.metric == metricOther || p.metric == metricOther || one.metric == metricThroughput && s.tokens[p.a].num.unit.dim == dimCount
}
