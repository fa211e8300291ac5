package measure

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Sample is one class of operations in one interval.
type Sample struct {
	Class      string // such as "read"; empty when the workload has one class only
	Operations int64  // completed successfully
	Bytes      int64
	Errors     int64         // failed or timed out
	TimedOut   int64         // of the errors
	Latency    *Histogram    // response times of completed operations; nil if there were none
	Total      time.Duration // exact sum of the response times; 0 to use the histogram's
	// Service holds the service times, from start to completion, if response times count from
	// the due time.
	Service *Histogram
}

// Add adds the counts of another sample, and the sum of its response times.
func (s *Sample) Add(other Sample) {
	s.Operations += other.Operations
	s.Bytes += other.Bytes
	s.Errors += other.Errors
	s.TimedOut += other.TimedOut
	s.Total += other.Total
}

// Offer counts the scheduled operations of an open loop in one interval: Scheduled = OnTime +
// Late + Abandoned. An operation counts in the interval in which it is started or abandoned.
type Offer struct {
	Scheduled int64
	OnTime    int64
	Late      int64      // started with more than the allowed lag
	Abandoned int64      // never started
	Lag       *Histogram // lag of the started operations
}

// Add adds the counts of another offer.
func (o *Offer) Add(other Offer) {
	o.Scheduled += other.Scheduled
	o.OnTime += other.OnTime
	o.Late += other.Late
	o.Abandoned += other.Abandoned
}

// Interval is one interval of a load, with all classes. Its times count from the start of the
// load.
type Interval struct {
	From, To time.Duration
	Samples  []Sample
	Offer    Offer                 // zero without a schedule
	Shares   []int64               // completed operations by server; nil if there is one
	Times    map[string]*Histogram // further times, by the prefix of their metrics, such as "queue"
	Faults   map[string]int64      // failed operations by fault
	latency  map[string]compact    // by class, compact: a long trial has many
	times    map[string]compact
	service  map[string]compact
	lag      *compact
}

// Recorder collects the intervals of a load while it runs. It is safe for use by several
// goroutines, at the rate of intervals, not of operations.
type Recorder struct {
	mu        sync.Mutex
	enough    func(*Recorder) bool
	intervals []Interval
	observed  map[string]string
	values    map[string]float64
	checks    []Check
	done      bool
	complete  func(*Interval)
}

// NewRecorder returns a recorder that calls enough after each interval to decide whether the
// load may end; nil runs it to its full length.
func NewRecorder(enough func(*Recorder) bool) *Recorder {
	return &Recorder{enough: enough, observed: map[string]string{}, values: map[string]float64{}}
}

// Interval adds the next interval, which must begin at the end of the last one. It returns
// false once enough was measured: the load should then end in an orderly way.
func (r *Recorder) Interval(i Interval) (more bool) {
	r.mu.Lock()
	complete := r.complete
	r.mu.Unlock()
	if complete != nil {
		complete(&i)
	}
	i.compress()
	r.mu.Lock()
	r.intervals = append(r.intervals, i)
	r.mu.Unlock()
	if r.enough != nil && r.enough(r) {
		r.mu.Lock()
		r.done = true
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.done
}

// compress makes the histograms compact.
func (i *Interval) compress() {
	if i.latency == nil {
		i.latency = map[string]compact{}
	}
	i.restTimes()
	for k := range i.Samples {
		s := &i.Samples[k]
		if s.Latency != nil {
			if s.Total == 0 {
				s.Total = time.Duration(float64(s.Latency.Mean()) * float64(s.Operations))
			}
			i.latency[s.Class] = s.Latency.compact()
			s.Latency = nil
		}
		if s.Service != nil {
			if i.service == nil {
				i.service = map[string]compact{}
			}
			i.service[s.Class] = s.Service.compact()
			s.Service = nil
		}
	}
	if i.Offer.Lag != nil {
		lag := i.Offer.Lag.compact()
		i.lag, i.Offer.Lag = &lag, nil
	}
}

// Observe records the value of a setting as read where it takes effect, by the name of its
// factor, such as "storage.threads".
func (r *Recorder) Observe(setting, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observed[setting] = value
}

// Value records one more metric over the whole load, in its base unit.
func (r *Recorder) Value(metric string, value float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values[metric] = value
}

// Check records a check of the workload.
func (r *Recorder) Check(c Check) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, c)
}

// Intervals returns the intervals so far. The caller must not change them.
func (r *Recorder) Intervals() []Interval {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.intervals[:len(r.intervals):len(r.intervals)]
}

// Observed returns the settings that the workload read in effect.
func (r *Recorder) Observed() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.observed)
}

// Values returns the further metrics of the workload.
func (r *Recorder) Values() map[string]float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.values)
}

// Checks returns the checks of the workload.
func (r *Recorder) Checks() []Check {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.checks)
}
