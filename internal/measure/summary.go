package measure

import (
	"fmt"
	"math"
)

// Summary is what the intervals of a window come to.
type Summary struct {
	Values     map[string]float64    // metrics of OperationMetrics that the data can bear
	Counts     map[string]int64      // "operations", "errors"; with "CLASS." in front for each class
	Histograms map[string]*Histogram // response times by class; "" holds all classes
	Seconds    float64               // length of the intervals that count
}

// Summarise adds up the intervals that lie wholly inside the window, under the
// metric names of OperationMetrics. A quantile that the data cannot bear is
// absent, and so is every latency when nothing completed.
func Summarise(intervals []Interval, window Window, rate string) (*Summary, error) {
	s := &Summary{Values: map[string]float64{}, Counts: map[string]int64{}, Histograms: map[string]*Histogram{}}
	totals := map[string]*Sample{}
	for i := range intervals {
		in := &intervals[i]
		if !window.Holds(in) {
			continue
		}
		s.Seconds += (in.To - in.From).Seconds()
		for _, sample := range in.Samples {
			s.add(totals, in, sample)
		}
	}
	if s.Seconds == 0 {
		return nil, fmt.Errorf("summarise trial: no interval lies inside the window from %.3f s to %.3f s", window.Cut, window.End)
	}
	for class, t := range totals {
		s.derive(class, rate, t)
	}
	return s, nil
}

// Holds says whether the interval lies wholly inside the window, within a
// nanosecond's rounding of its bounds.
func (w Window) Holds(i *Interval) bool {
	const rounding = 2e-9
	return i.From.Seconds() >= w.Cut-rounding && i.To.Seconds() <= w.End+rounding
}

// add counts a sample for its class and for all classes together.
func (s *Summary) add(totals map[string]*Sample, in *Interval, sample Sample) {
	h := in.Latency(sample.Class)
	for _, class := range classesOf(sample.Class) {
		t := totals[class]
		if t == nil {
			t = &Sample{Class: class}
			totals[class] = t
			s.Histograms[class] = NewHistogram()
		}
		t.Operations += sample.Operations
		t.Bytes += sample.Bytes
		t.Errors += sample.Errors
		t.Total += sample.Total
		if h != nil {
			s.Histograms[class].Merge(h)
		}
	}
}

func classesOf(class string) []string {
	if class == "" {
		return []string{""}
	}
	return []string{"", class}
}

func (s *Summary) derive(class, rate string, t *Sample) {
	prefix := ""
	if class != "" {
		prefix = class + "."
	}
	s.Counts[prefix+"operations"] = t.Operations
	s.Counts[prefix+"errors"] = t.Errors
	s.Values[prefix+rate] = float64(t.Operations) / s.Seconds
	s.Values[prefix+"throughput"] = float64(t.Bytes) / s.Seconds
	s.Values[prefix+"errors"] = float64(t.Errors) / s.Seconds
	h := s.Histograms[class]
	if h.Count() == 0 {
		return
	}
	s.Values[prefix+"mean"] = t.Total.Seconds() / float64(t.Operations)
	s.Values[prefix+"max"] = h.Max().Seconds()
	for _, q := range quantiles {
		if d, ok := h.Quantile(q.q); ok {
			s.Values[prefix+q.name] = d.Seconds()
		}
	}
}

// Series are the curves of a trial, one value an interval, all classes together.
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
			all.Operations += sample.Operations
			all.Bytes += sample.Bytes
			all.Total += sample.Total
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
