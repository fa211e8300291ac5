// Package counter parses recordings of counters, which belong to results of a load: their means over the samples.
package counter

import "math"

// mean is the mean of the samples of a counter.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

func (m *mean) value() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.sum / float64(m.n)
}

// means are those of several counters by name.
type means map[string]*mean

func (m means) add(name string, v float64) {
	if m[name] == nil {
		m[name] = &mean{}
	}
	m[name].add(v)
}

// into sets the counters.
func (m means) into(counters map[string]float64) {
	for name, one := range m {
		counters[name] = one.value()
	}
}
