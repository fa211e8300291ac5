package measure

import (
	"slices"
	"sync"
	"time"
)

// Merger adds up the loads of several machines that run together: the n-th intervals of all
// make the n-th interval of the sum. It is safe for use by several goroutines.
type Merger struct {
	mu      sync.Mutex
	out     *Recorder
	waiting [][]Interval // by machine: intervals that other machines have not reported yet
	more    bool
	last    time.Duration // end of the last interval of the sum
}

// NewMerger adds up the given number of machines into a recorder.
func NewMerger(machines int, out *Recorder) *Merger {
	return &Merger{out: out, waiting: make([][]Interval, machines), more: true}
}

// Take adds the next interval of a machine, counted from 0. It returns false once the recorder
// has enough.
func (m *Merger) Take(machine int, in Interval) (more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in.compress()
	m.waiting[machine] = append(m.waiting[machine], in)
	for m.more && !slices.ContainsFunc(m.waiting, func(w []Interval) bool { return len(w) == 0 }) {
		all := make([]Interval, len(m.waiting))
		for i := range m.waiting {
			all[i], m.waiting[i] = m.waiting[i][0], m.waiting[i][1:]
		}
		m.more = m.out.Interval(m.sum(all))
	}
	return m.more
}

// sum adds up intervals. Clocks and interval ends differ slightly between machines; the end of
// the sum is their mean.
func (m *Merger) sum(all []Interval) Interval {
	to := time.Duration(0)
	for _, in := range all {
		to += in.To / time.Duration(len(all))
	}
	whole := Interval{From: m.last, To: max(to, m.last+1)}
	m.last = whole.To
	for i := range all {
		in := &all[i]
		for _, s := range in.Samples {
			k := slices.IndexFunc(whole.Samples, func(w Sample) bool { return w.Class == s.Class })
			if k < 0 {
				k = len(whole.Samples)
				whole.Samples = append(whole.Samples, Sample{Class: s.Class})
			}
			whole.Samples[k].add(s, in)
		}
		whole.addExtra(in)
		whole.Shares = addShares(whole.Shares, in.Shares)
		if in.Offer != (Offer{}) || in.lag != nil {
			whole.Offer.add(in)
		}
	}
	return whole
}

// addShares adds operations by server.
func addShares(sum, more []int64) []int64 {
	for i, n := range more {
		if i == len(sum) {
			sum = append(sum, 0)
		}
		sum[i] += n
	}
	return sum
}

// add adds a sample of a machine to the sum.
func (s *Sample) add(other Sample, in *Interval) {
	s.Add(other)
	if h := in.Latency(other.Class); h != nil {
		if s.Latency == nil {
			s.Latency = NewHistogram()
		}
		s.Latency.Merge(h)
	}
	if c, ok := in.service[other.Class]; ok {
		if s.Service == nil {
			s.Service = NewHistogram()
		}
		s.Service.Merge(c.histogram())
	}
}

// Jain is the fairness index of Jain, Chiu and Hawe (DEC-TR-301, 1984): 1 if all shares are
// equal, 1/n if one has everything; 1 if all are 0.
func Jain(shares []float64) float64 {
	sum, squares := 0., 0.
	for _, x := range shares {
		sum, squares = sum+x, squares+x*x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}
