package machines

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/measure"
)

const (
	// sampleEvery is the shortest time between two samples. A window of ten
	// seconds has twenty of them, and a mean over it needs no more.
	sampleEvery = 500 * time.Millisecond
	// sampleShare is the largest part of one CPU that sampling may take: where
	// reading is slow, it is done less often.
	sampleShare = 0.005
	// sampleLast is how long the last sample may take after the load has ended.
	sampleLast = 5 * time.Second
)

// Sampler reads the counters of a machine while a load runs.
type Sampler struct {
	sources []openSource
	counter map[string]collect.Counter
	Missing []string

	mu      sync.Mutex
	start   time.Time
	lead    time.Duration // from the first sample to the beginning of the load, about
	samples []sample
	failed  map[string]bool
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

type openSource struct {
	name string
	read collect.Read
}

type sample struct {
	at     time.Duration // since the load started
	values map[string]float64
}

// OpenSampler opens every source. One that does not open is missing.
func OpenSampler(ctx context.Context, sources []collect.Source, place collect.Env) *Sampler {
	s := &Sampler{counter: map[string]collect.Counter{}, failed: map[string]bool{}}
	for _, source := range sources {
		if source.For != nil && !source.For(place.Machine) {
			continue
		}
		read, err := source.Open(ctx, place)
		if err != nil {
			s.Missing = append(s.Missing, fmt.Sprintf("%s: %v", source.Name, err))
			continue
		}
		s.sources = append(s.sources, openSource{source.Name, read})
		for _, c := range source.Counters {
			s.counter[c.Name] = c
		}
	}
	return s
}

// Begin takes the first sample and continues until end is called.
func (s *Sampler) Begin(ctx context.Context, every time.Duration) {
	s.start = time.Now()
	cost := s.take(ctx)
	s.lead = cost
	sampling, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	s.done.Go(func() {
		for {
			wait := max(every, sampleEvery, time.Duration(float64(cost)/sampleShare))
			timer := time.NewTimer(wait)
			select {
			case <-sampling.Done():
				timer.Stop()
				return
			case <-timer.C:
				cost = s.take(sampling)
			}
		}
	})
}

// End takes the last sample, and returns when nothing samples any more.
func (s *Sampler) End(ctx context.Context) {
	s.cancel()
	s.done.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), sampleLast)
	defer cancel()
	s.take(last)
}

// take reads every source once and returns how long it took.
func (s *Sampler) take(ctx context.Context) time.Duration {
	from := time.Now()
	values := map[string]float64{}
	for _, source := range s.sources {
		read, err := source.read(ctx)
		if ctx.Err() != nil {
			return 0 // half a sample is none
		}
		if err != nil {
			s.mu.Lock()
			if !s.failed[source.name] {
				s.failed[source.name] = true
				s.Missing = append(s.Missing, fmt.Sprintf("%s: %v", source.name, err))
			}
			s.mu.Unlock()
			continue
		}
		maps.Copy(values, read)
	}
	s.mu.Lock()
	s.samples = append(s.samples, sample{from.Sub(s.start), values})
	s.mu.Unlock()
	return time.Since(from)
}

// Over returns each counter over a window: the increase per second of those
// that only grow, the mean of all others. The samples used are those inside
// the window, with the last one before it where the window holds only one.
func (s *Sampler) Over(w measure.Window) map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	inside := s.within(w)
	out := map[string]float64{}
	for name, counter := range s.counter {
		var at, value []float64
		for _, sample := range inside {
			if v, ok := sample.values[name]; ok {
				at, value = append(at, sample.at.Seconds()), append(value, v)
			}
		}
		n := len(value)
		switch {
		case counter.Cumulative && n >= 2 && at[n-1] > at[0] && value[n-1] >= value[0]:
			out[name] = (value[n-1] - value[0]) / (at[n-1] - at[0])
		case !counter.Cumulative && n >= 1:
			sum := 0.0
			for _, v := range value {
				sum += v
			}
			out[name] = sum / float64(n)
		}
	}
	return out
}

// within are the samples that stand for a window.
func (s *Sampler) within(w measure.Window) []sample {
	first, last := s.inside(w)
	if last-first < 2 && first > 0 {
		first--
	}
	return s.samples[first:last]
}

// inside are the first sample in a window, and the first one after it.
func (s *Sampler) inside(w measure.Window) (first, last int) {
	last = len(s.samples)
	for first < last && s.samples[first].at.Seconds() < w.Cut {
		first++
	}
	// The sample at the end of the load is taken shortly after its last interval.
	const grace = 0.5
	for last > first && s.samples[last-1].at.Seconds() > w.End+grace+s.lead.Seconds() {
		last--
	}
	return first, last
}

// Seldom are the counters that the machine has, but that were not read often enough to say
// anything of a window; and how many times all were read in it.
func (s *Sampler) Seldom(w measure.Window) (names []string, times int) {
	had := s.Over(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	first, last := s.inside(w)
	for name := range s.counter {
		read := slices.ContainsFunc(s.samples, func(of sample) bool { _, ok := of.values[name]; return ok })
		if _, known := had[name]; read && !known && last-first < 2 {
			names = append(names, name)
		}
	}
	return names, last - first
}

// Table is the file counters.csv: a row a sample, a column a counter.
func (s *Sampler) Table() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]bool{}
	for _, sample := range s.samples {
		for name := range sample.values {
			names[name] = true
		}
	}
	columns := slices.Sorted(maps.Keys(names))
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	rows := [][]string{append([]string{"time_s"}, columns...)}
	for _, sample := range s.samples {
		row := []string{strconv.FormatFloat(sample.at.Seconds(), 'f', 6, 64)}
		for _, name := range columns {
			cell := ""
			if v, ok := sample.values[name]; ok {
				cell = strconv.FormatFloat(v, 'g', -1, 64)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		panic(err) // a buffer in memory takes everything
	}
	return out.Bytes()
}
