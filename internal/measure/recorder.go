package measure

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Sample is what one class of operations did during one interval.
type Sample struct {
	Class      string // such as "read"; empty when the workload has one class only
	Operations int64  // completed well
	Bytes      int64
	Errors     int64         // failed or timed out
	TimedOut   int64         // of the errors
	Latency    *Histogram    // response times of the completed; nil when there were none
	Total      time.Duration // exact sum of the response times; 0 leaves it to the histogram
	// Service holds the times from the start of the completed operations where
	// they differ from the response times, which count from when they were due.
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

// Offer is what a load that keeps a schedule did with it during one interval:
// Scheduled = OnTime + Late + Abandoned. Operations that are due and not yet
// started belong to the interval in which their fate is decided.
type Offer struct {
	Scheduled int64
	OnTime    int64
	Late      int64      // started, later after their due time than the load allows itself
	Abandoned int64      // never started
	Lag       *Histogram // from due to started, of those that started
}

// Add adds the counts of another offer.
func (o *Offer) Add(other Offer) {
	o.Scheduled += other.Scheduled
	o.OnTime += other.OnTime
	o.Late += other.Late
	o.Abandoned += other.Abandoned
}

// Interval is one stretch of a load, all classes together. Its times count from
// the instant at which the load started.
type Interval struct {
	From, To time.Duration
	Samples  []Sample
	Offer    Offer                 // zero where the load keeps no schedule
	Shares   []int64               // operations that each of several servers completed well; nil where there is one
	Times    map[string]*Histogram // further times, by the name before those of their metrics, such as "queue"
	Faults   map[string]int64      // failed operations, by what the load calls their faults
	latency  map[string]compact    // by class; a long trial has many
	times    map[string]compact
	service  map[string]compact
	lag      *compact
}

// Recorder takes down what a load does while it runs. It is safe for use by
// several goroutines, at the pace of intervals, not of operations.
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

// NewRecorder returns a recorder that calls enough after each interval to learn
// whether the load may end; nil lets it run its full length.
func NewRecorder(enough func(*Recorder) bool) *Recorder {
	return &Recorder{enough: enough, observed: map[string]string{}, values: map[string]float64{}}
}

// Interval takes down the next interval, which must begin where the last one
// ended. It answers false once enough has been measured: the load should then
// end by itself, soon and cleanly.
func (r *Recorder) Interval(i Interval) (more bool) {
	r.mu.Lock()
	complete := r.complete
	r.mu.Unlock()
	if complete != nil {
		complete(&i)
	}
	i.rest()
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

// rest makes the histograms compact.
func (i *Interval) rest() {
	if i.latency == nil {
		i.latency = map[string]compact{}
	}
	i.restTimes()
	for k := range i.Samples {
		s := &i.Samples[k]
		if s.Latency != nil {
			if s.Total == 0 {
				s.Total = time.Duration(float64(s.Latency.Mean()) * float64(s.Latency.Count()))
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

// Observe takes down the value of a setting as seen where it takes effect, by
// the name of the factor that would vary it, such as "storage.threads".
func (r *Recorder) Observe(setting, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observed[setting] = value
}

// Value takes down one more metric over the whole load, in its base unit.
func (r *Recorder) Value(metric string, value float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values[metric] = value
}

// Check takes down a check that the workload made itself.
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

// Observed returns the settings that the workload saw in effect.
func (r *Recorder) Observed() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.observed)
}

// Values returns the further metrics that the workload took down.
func (r *Recorder) Values() map[string]float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.values)
}

// Checks returns the checks that the workload made.
func (r *Recorder) Checks() []Check {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.checks)
}
