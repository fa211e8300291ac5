package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Summary is the sum of the intervals of a window.
type Summary struct {
	Values     map[string]float64    // metrics of OperationMetrics for which the data suffice
	Counts     map[string]int64      // "operations", "errors", "timed out"; prefixed with "CLASS." for each class; and those of the offer
	Histograms map[string]*Histogram // response times by class; "" holds all classes
	Service    map[string]*Histogram // service times by class, of open loops
	Lag        *Histogram            // lag; nil without a schedule
	Faults     map[string]int64      // failed operations by fault
	Seconds    float64               // length of the counted intervals

	totals map[string]*Sample // by class; "" is all classes
}

// Summarise adds up the intervals that lie entirely inside the window, under the metric names
// of OperationMetrics. A quantile with too few samples is absent, and so is every latency when
// nothing completed.
func Summarise(intervals []Interval, window Window, rate string) (*Summary, error) {
	s := newSummary()
	var offer Offer
	var extra Interval
	for i := range intervals {
		in := &intervals[i]
		if !window.Holds(in) {
			continue
		}
		s.Seconds += (in.To - in.From).Seconds()
		for _, sample := range in.Samples {
			s.add(in, sample)
		}
		offer.add(in)
		extra.addExtra(in)
	}
	if s.Seconds == 0 {
		return nil, fmt.Errorf("summarise trial: no interval lies inside the window from %.3f s to %.3f s", window.Cut, window.End)
	}
	for class := range s.totals {
		s.derive(class, rate)
	}
	s.offered(offer)
	s.further(extra)
	return s, nil
}

func newSummary() *Summary {
	return &Summary{Values: map[string]float64{}, Counts: map[string]int64{}, Histograms: map[string]*Histogram{}, Service: map[string]*Histogram{}, totals: map[string]*Sample{}}
}

// Holds reports whether the interval lies entirely inside the window, within a nanosecond's
// rounding of its bounds.
func (w Window) Holds(i *Interval) bool {
	const rounding = 2e-9
	return i.From.Seconds() >= w.Cut-rounding && i.To.Seconds() <= w.End+rounding
}

// add counts a sample for its class and for all classes together.
func (s *Summary) add(in *Interval, sample Sample) {
	latency := in.latency[sample.Class]
	for _, class := range classesOf(sample.Class) {
		s.total(class).Add(sample)
		s.Histograms[class].mergeCompact(latency)
		if c, ok := in.service[sample.Class]; ok {
			if s.Service[class] == nil {
				s.Service[class] = NewHistogram()
			}
			s.Service[class].mergeCompact(c)
		}
	}
}

// total is the sum of a class.
func (s *Summary) total(class string) *Sample {
	if s.totals[class] == nil {
		s.totals[class], s.Histograms[class] = &Sample{Class: class}, NewHistogram()
	}
	return s.totals[class]
}

func classesOf(class string) []string {
	if class == "" {
		return []string{""}
	}
	return []string{"", class}
}

func prefixOf(class string) string {
	if class == "" {
		return ""
	}
	return class + "."
}

func (s *Summary) derive(class, rate string) {
	t, prefix := s.totals[class], prefixOf(class)
	s.count(prefix, t)
	s.Values[prefix+rate] = float64(t.Operations) / s.Seconds
	s.Values[prefix+"throughput"] = float64(t.Bytes) / s.Seconds
	s.Values[prefix+"errors"] = float64(t.Errors) / s.Seconds
	s.latencies(class)
	if service := s.Service[class]; service != nil && s.Histograms[class].Count() > 0 {
		s.Values[prefix+"service.mean"] = service.Mean().Seconds()
		s.quantiles(prefix+"service.", service)
	}
}

func (s *Summary) count(prefix string, t *Sample) {
	s.Counts[prefix+"operations"] = t.Operations
	s.Counts[prefix+"errors"] = t.Errors
	if t.TimedOut > 0 {
		s.Counts[prefix+"timed out"] = t.TimedOut
	}
}

// latencies derives the response times of a class from all its operations.
func (s *Summary) latencies(class string) {
	t, prefix, h := s.totals[class], prefixOf(class), s.Histograms[class]
	if h.Count() == 0 {
		return
	}
	s.Values[prefix+"mean"] = t.Total.Seconds() / float64(t.Operations)
	if h.Count() > t.Operations { // some ended after an open loop
		s.Values[prefix+"mean"] = h.Mean().Seconds()
	}
	s.Values[prefix+"max"] = h.Max().Seconds()
	s.quantiles(prefix, h)
}

func (s *Summary) quantiles(prefix string, h *Histogram) {
	for _, q := range Quantiles {
		if d, ok := h.Quantile(q.Q); ok {
			s.Values[prefix+q.Name] = d.Seconds()
		}
	}
}

// offered sets the metrics of a schedule.
func (s *Summary) offered(o Offer) {
	if o.Scheduled == 0 {
		return
	}
	s.Lag = o.Lag
	for name, n := range map[string]int64{"scheduled": o.Scheduled, "on time": o.OnTime, "late": o.Late, "abandoned": o.Abandoned} {
		s.Counts[name] = n
	}
	s.Values["offered"] = float64(o.Scheduled) / s.Seconds
	s.Values["late"] = float64(o.Late) / float64(o.Scheduled)
	s.Values["abandoned"] = float64(o.Abandoned) / float64(o.Scheduled)
	if o.Lag.Count() > 0 {
		s.Values["lag.max"] = o.Lag.Max().Seconds()
		s.quantiles("lag.", o.Lag)
	}
}

// add counts the offer of an interval.
func (o *Offer) add(in *Interval) {
	o.Add(in.Offer)
	if o.Lag == nil {
		o.Lag = NewHistogram()
	}
	if in.lag != nil {
		o.Lag.Merge(in.lag.histogram())
	}
}

// Series are time series of a trial, one value per interval, all classes together.
type Series struct {
	Times      []float64 // end of each interval, in seconds since the load started
	Rate       []float64 // operations per second
	Throughput []float64 // bytes per second
	Mean       []float64 // mean response time in seconds; NaN where nothing completed
	InFlight   []float64 // mean operations outstanding, by Little's law
}

// Curves returns the series of the intervals.
func Curves(intervals []Interval) Series {
	var s Series
	for _, in := range intervals {
		var all Sample
		for _, sample := range in.Samples {
			all.Add(sample)
		}
		seconds := (in.To - in.From).Seconds()
		mean := math.NaN()
		if all.Operations > 0 {
			mean = all.Total.Seconds() / float64(all.Operations)
		}
		s.Times = append(s.Times, in.To.Seconds())
		s.Rate = append(s.Rate, float64(all.Operations)/seconds)
		s.Throughput = append(s.Throughput, float64(all.Bytes)/seconds)
		s.Mean = append(s.Mean, mean)
		s.InFlight = append(s.InFlight, all.Total.Seconds()/seconds)
	}
	return s
}

// Latency returns the response times of a class in the interval, or nil where
// none were recorded.
func (i *Interval) Latency(class string) *Histogram {
	c, ok := i.latency[class]
	if !ok {
		return nil
	}
	return c.histogram()
}

// AddLatency adds the response times of a class in the interval to a histogram.
func (i *Interval) AddLatency(class string, to *Histogram) { to.mergeCompact(i.latency[class]) }

// Longest lists the buckets of the n longest response times of a class, from long to short.
// The last bucket may hold more of them.
func (i *Interval) Longest(class string, n int64) []Bar { return i.latency[class].longest(n) }

// Slow returns the response times of all classes that are longer than the given one, each as
// the upper end of its bucket, unordered.
func (i *Interval) Slow(than time.Duration) (all []time.Duration) {
	for _, c := range i.latency {
		for k, index := range c.index {
			if from, to := rangeOf(int(index)); time.Duration(from) > than {
				all = append(all, slices.Repeat([]time.Duration{time.Duration(to)}, int(c.count[k]))...)
			}
		}
	}
	return all
}

// Slower counts the operations of a class that took longer than the given time; an empty class stands for all.
func (i *Interval) Slower(class string, than time.Duration) (n int64) {
	for name, c := range i.latency {
		if class != "" && name != class {
			continue
		}
		for k, index := range c.index {
			if from, _ := rangeOf(int(index)); time.Duration(from) > than {
				n += int64(c.count[k])
			}
		}
	}
	return n
}

// Lag is the longest lag of the operations started in the interval.
func (i *Interval) Lag() (longest time.Duration) {
	if i.lag == nil {
		return 0
	}
	return i.lag.max()
}

// Late is the number of operations started in the interval with more than the given lag.
func (i *Interval) Late(than time.Duration) (n int64) {
	if i.lag == nil {
		return 0
	}
	for k, index := range i.lag.index {
		if from, _ := rangeOf(int(index)); time.Duration(from) > than {
			n += int64(i.lag.count[k])
		}
	}
	return n
}

// Log returns all histograms of the summary for the log of a trial: response times by class,
// service times as "CLASS service", and "lag".
func (s *Summary) Log() map[string]*Histogram {
	all := maps.Clone(s.Histograms)
	for class, h := range s.Service {
		all[strings.TrimSpace(class+" service")] = h
	}
	if s.Lag != nil {
		all["lag"] = s.Lag
	}
	return all
}
