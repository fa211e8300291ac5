package measure

import "maps"

// mostFaults bounds the kinds of faults of an interval that comes from elsewhere.
const mostFaults = 200

// Amend has the function complete each interval before it is taken down, with times and faults
// that the core of the load does not know.
func (r *Recorder) Amend(complete func(*Interval)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complete = complete
}

// restTimes makes the histograms of the further times compact.
func (i *Interval) restTimes() {
	for name, h := range i.Times {
		if i.times == nil {
			i.times = map[string]compact{}
		}
		i.times[name] = h.compact()
	}
	i.Times = nil
}

// addExtra adds the further times and faults of another interval.
func (i *Interval) addExtra(other *Interval) {
	for name, c := range other.times {
		if i.Times == nil {
			i.Times = map[string]*Histogram{}
		}
		if i.Times[name] == nil {
			i.Times[name] = NewHistogram()
		}
		i.Times[name].mergeCompact(c)
	}
	if len(other.Faults) > 0 && i.Faults == nil {
		i.Faults = map[string]int64{}
	}
	for name, n := range other.Faults {
		i.Faults[name] += n
	}
}

// further derives the metrics of the further times, and keeps the faults.
func (s *Summary) further(all Interval) {
	for name, h := range all.Times {
		if h.Count() == 0 {
			continue
		}
		s.Values[name+".mean"], s.Values[name+".max"] = h.Mean().Seconds(), h.Max().Seconds()
		s.quantiles(name+".", h)
	}
	s.Faults = maps.Clone(all.Faults)
}
