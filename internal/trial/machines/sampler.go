package machines

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

const (
	// sampleEvery is the shortest time between two samples. A window of ten
	// seconds has twenty of them, and a mean over it needs no more.
	sampleEvery = 500 * time.Millisecond
	// SampleShare is the largest part of one CPU that sampling may take: where
	// reading is slow, it is done less often.
	SampleShare = 0.0025
	// sampleLast is how long the last sample may take after the load has ended.
	sampleLast = 5 * time.Second
)

// Sampler reads the counters of a machine while a load runs.
type Sampler struct {
	sources []openSource
	host    *host // nil without sources of the host
	counter map[string]collect.Counter
	Missing []string
	latest  float64 // end of the interval of the last call of Latest

	checkpoints checkpoints // at the last call of Checkpoints

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

// Watch opens the samplers of all machines of a set. Those that are this host share its readings:
// the first of the subject takes them, if it is one.
func (c Set) Watch(ctx context.Context, sources []collect.Source, served bool) {
	c.each(func(m *Member) {
		m.Sampler = openSampler(ctx, sources, collect.Env{Machine: m.At.Machine, Dir: m.At.Dir, Served: served})
	})
	var here *Sampler
	for _, m := range append(c.Subject(), c...) {
		local, ok := m.At.Machine.(platform.Local)
		switch {
		case !ok || !local.Local() || m.Sampler.host == nil || m.Sampler == here:
		case here == nil:
			here = m.Sampler
		default:
			m.Sampler.host.shared, m.Sampler.host.owner = here.host.shared, false
		}
	}
}

// each does something on all machines at once.
func (c Set) each(do func(*Member)) {
	var done sync.WaitGroup
	for _, m := range c {
		done.Go(func() { do(m) })
	}
	done.Wait()
}

// BeginSampling takes the first samples of all machines, and continues until EndSampling.
func (c Set) BeginSampling(ctx context.Context, every time.Duration) {
	c.each(func(m *Member) { m.Sampler.begin(ctx, every) })
}

// EndSampling takes the last samples, and returns when nothing samples any more.
func (c Set) EndSampling(ctx context.Context) {
	c.each(func(m *Member) { m.Sampler.end(ctx) })
	for _, m := range c { // after the readings that some share
		if s := m.Sampler; s.host != nil {
			s.Missing = append(s.Missing, s.host.missing()...)
		}
	}
}

// openSampler opens every source. One that does not open is missing.
func openSampler(ctx context.Context, sources []collect.Source, place collect.Env) *Sampler {
	s := &Sampler{counter: map[string]collect.Counter{}, failed: map[string]bool{}}
	if slices.ContainsFunc(sources, func(of collect.Source) bool { return of.Host != nil }) {
		s.host = &host{name: place.Machine.Name(), machine: place.Machine, served: place.Served, shared: &following{}, owner: true}
		r, err := place.Machine.Run(ctx, platform.Command{Argv: []string{"cat", "/proc/self/cgroup"}, Worker: true})
		if err == nil && r.Exit == 0 {
			place.Membership = string(r.Stdout)
			s.host.members = []string{place.Membership}
		}
	}
	for _, source := range sources {
		if source.For != nil && !source.For(place.Machine) {
			continue
		}
		if err := s.open(ctx, source, place); err != nil {
			s.Missing = append(s.Missing, fmt.Sprintf("%s: %v", source.Name, err))
		}
	}
	return s
}

func (s *Sampler) open(ctx context.Context, source collect.Source, place collect.Env) error {
	if source.Host != nil {
		flatten, err := source.Host(ctx, place)
		if err == nil {
			s.host.flattens = append(s.host.flattens, openFlatten{source.Name, source.Needs, flatten, source.Counters})
		}
		return err
	}
	read, err := source.Open(ctx, place)
	if err != nil {
		return err
	}
	s.sources = append(s.sources, openSource{source.Name, read})
	for _, c := range source.Counters {
		s.counter[c.Name] = c
	}
	return nil
}

// begin takes the first sample and continues until end is called.
func (s *Sampler) begin(ctx context.Context, every time.Duration) {
	if s.host != nil {
		s.host.begin(ctx, max(every, sampleEvery))
	}
	s.start = time.Now()
	cost := s.take(ctx)
	s.lead = cost
	sampling, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	s.done.Go(func() {
		for {
			wait := max(every, sampleEvery, time.Duration(float64(cost)/SampleShare))
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

// end takes the last sample, and returns when nothing samples any more.
func (s *Sampler) end(ctx context.Context) {
	s.cancel()
	s.done.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), sampleLast)
	defer cancel()
	s.take(last)
	if s.host != nil {
		s.host.end(s.start)
	}
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
	if s.host != nil {
		out = s.host.flat(trace.Combine(s.host.within(w, s.grace())))
	}
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
	for last > first && s.samples[last-1].at.Seconds() > w.End+s.grace() {
		last--
	}
	return first, last
}

// grace is how long after a window, in seconds, its last sample may be: that at the end of the
// load is taken shortly after its last interval.
func (s *Sampler) grace() float64 { return 0.5 + s.lead.Seconds() }

// Host is the file host.json: the state of the machine over the load, with the mean over a
// window, and events that the study made. It is nil if the machine shows too little.
func (s *Sampler) Host(w measure.Window, made []trace.Event) []byte {
	if s.host == nil {
		return nil
	}
	return s.host.detail(w, s.grace(), made)
}

// Latest are the counters of the host over its last interval, of those sources that have one of the names; nil if there is
// no interval since the last call. It may be called while the load runs.
func (s *Sampler) Latest(names ...string) map[string]float64 {
	if s.host == nil {
		return nil
	}
	last, ok := s.host.last()
	if !ok || last.At <= s.latest {
		return nil
	}
	s.latest = last.At
	values := map[string]float64{}
	for _, source := range s.host.flattens {
		if slices.ContainsFunc(source.counters, func(c collect.Counter) bool { return slices.Contains(names, c.Name) }) {
			source.flatten(&last, values)
		}
	}
	return values
}

// Clock is the machine's clock minus the lab's when the load began; false if it was not measured.
func (s *Sampler) Clock() (offset time.Duration, known bool) {
	if s == nil || s.host == nil {
		return 0, false
	}
	if local, ok := s.host.machine.(platform.Local); ok && local.Local() {
		return 0, true
	}
	if c := s.host.clock; c != nil {
		return time.Duration(c.Offset * float64(time.Second)), true
	}
	return 0, false
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
	times = last - first
	if s.host != nil && len(s.host.within(w, s.grace())) == 0 {
		times = 0
		for name := range s.host.flat(trace.Combine(s.host.intervals())) {
			names = append(names, name)
		}
	}
	return names, times
}

// rows are the samples, with one for each interval of the host, in order of time.
func (s *Sampler) rows() []sample {
	all := slices.Clone(s.samples)
	if s.host != nil {
		for _, i := range s.host.intervals() {
			all = append(all, sample{s.host.shared.base + time.Duration(i.At*float64(time.Second)), s.host.flat(&i)})
		}
	}
	slices.SortStableFunc(all, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	return all
}

// Table is the file counters.csv: a row a sample, a column a counter. Counters of the host are
// per second since the sample before.
func (s *Sampler) Table() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, samples := map[string]bool{}, s.rows()
	for _, sample := range samples {
		for name := range sample.values {
			names[name] = true
		}
	}
	columns := slices.Sorted(maps.Keys(names))
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	rows := [][]string{append([]string{"time_s"}, columns...)}
	for _, sample := range samples {
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
