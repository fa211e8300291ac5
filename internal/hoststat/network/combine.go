package network

import "slices"

// Combine is one interval over several successive ones: counters are means by the share of the
// time, gauges as by Average, the rest is of the last one. It is nil for none.
func Combine(parts []Part) *State {
	if len(parts) == 0 {
		return nil
	}
	n := *parts[len(parts)-1].State
	n.Listeners, n.Queues, n.Softnet, n.Spaces = slices.Clone(n.Listeners), slices.Clone(n.Queues), slices.Clone(n.Softnet), slices.Clone(n.Spaces)
	for i := range n.Listeners {
		l := &n.Listeners[i]
		sum(parts, l.Counters(), func(s *State) []*float64 {
			if from := index(s.Listeners, func(x *Listener) bool { return sameListener(x, l) }); from != nil {
				return from.Counters()
			}
			return nil
		})
	}
	for i := range n.Queues {
		q := &n.Queues[i]
		sum(parts, q.Counters(), func(s *State) []*float64 {
			if from := index(s.Queues, func(x *Queue) bool { return x.Device == q.Device && x.Kind == q.Kind }); from != nil {
				return from.Counters()
			}
			return nil
		})
	}
	for c := range n.Softnet {
		sum(parts, n.Softnet[c].counters(), func(s *State) []*float64 {
			if c < len(s.Softnet) {
				return s.Softnet[c].counters()
			}
			return nil
		})
	}
	for i := range n.Spaces {
		n.Spaces[i].Net = meanOf(parts, n.Spaces[i].PID)
	}
	sum(parts, []*float64{&n.Conntrack.Drops, &n.Readings}, func(s *State) []*float64 { return []*float64{&s.Conntrack.Drops, &s.Readings} })
	n.Average(parts)
	return &n
}

// sum replaces counters by their means over the parts.
func sum(parts []Part, into []*float64, of func(*State) []*float64) {
	means := make([]float64, len(into))
	for _, part := range parts {
		for i, from := range of(part.State) {
			means[i] += *from * part.Share
		}
	}
	for i := range into {
		*into[i] = means[i]
	}
}

// meanOf is the mean of the counters of a namespace over the parts.
func meanOf(parts []Part, pid int) map[string]float64 {
	means := map[string]float64{}
	for _, part := range parts {
		if from := index(part.Spaces, func(x *Namespace) bool { return x.PID == pid }); from != nil {
			for name, x := range from.Net {
				means[name] += x * part.Share
			}
		}
	}
	return means
}
