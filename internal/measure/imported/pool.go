package imported

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/measure/hcibench"
)

// pool adds up jobs that ran at the same time, on one machine or several. Rates add up;
// response times are merged as histograms, or left out if fio kept none: percentiles cannot be
// averaged.
type pool struct {
	classes  map[string]*pooled
	failed   int64
	length   time.Duration // run time of the longest job
	broken   string        // first job that ended with an error
	trims    int64
	warnings []string
}

// pooled is one class of operations; "" is all of them.
type pooled struct {
	rate, throughput  float64
	operations        int64
	total, longest    float64 // response times: sum and maximum, ns
	weight            float64 // of the response times: their number, or of averages the rate
	histogram         *measure.Histogram
	noBins            bool // a job has no bins
	parts             int
	noLatencies       bool               // a job has no latencies
	uncounted         bool               // of averages: the number of operations is not known
	percentiles       map[string]float64 // of a single job
	percentileSamples int64
}

func newPool() *pool { return &pool{classes: map[string]*pooled{}} }

// add adds a job.
func (p *pool) add(j *fioJob) error {
	p.failed += j.Failed
	if j.Error != 0 && p.broken == "" {
		p.broken = fmt.Sprintf("fio reported error %d in job %q", j.Error, j.Name)
	}
	directions := j.directions()
	for _, class := range []string{"read", "write", mixed} {
		d := directions[class]
		if d == nil {
			continue
		}
		p.length = max(p.length, time.Duration(min(d.Runtime, math.MaxInt64/int64(time.Millisecond)))*time.Millisecond)
		if d.Operations == 0 && d.Latency.Count == 0 {
			continue
		}
		if d.Runtime == 0 {
			return fmt.Errorf("job %q: %d %s in zero time", j.Name, d.Operations, operations(class))
		}
		l, submitted := d.latency()
		switch {
		case l.Mean == 0:
			p.warn("fio kept no latencies (gtod_reduce, or disable_lat with disable_clat): only rates are known")
		case !submitted:
			p.warn("fio kept only completion latency (clat), from the submission to the device; run it with --lat_percentiles=1")
		}
		h, err := l.histogram()
		if err != nil {
			return fmt.Errorf("job %q: %w", j.Name, err)
		}
		p.class("").add(d, l, h)
		if class != mixed {
			p.class(class).add(d, l, h)
		}
	}
	p.trims += j.Trim.Operations
	return nil
}

func (p *pool) class(name string) *pooled {
	if p.classes[name] == nil {
		p.classes[name] = &pooled{histogram: measure.NewHistogram()}
	}
	return p.classes[name]
}

func (p *pool) warn(text string) {
	if !slices.Contains(p.warnings, text) {
		p.warnings = append(p.warnings, text)
	}
}

// latency is the total latency (lat) if fio kept its distribution, otherwise the completion
// latency (clat).
func (d *fioDirection) latency() (l *fioLatency, submitted bool) {
	own, completion := &d.Latency, &d.Completion
	detailed := func(l *fioLatency) bool { return len(l.Bins)+len(l.Percentiles) > 0 }
	if own.Mean > 0 && (detailed(own) || !detailed(completion)) {
		return own, true
	}
	return completion, false
}

func (c *pooled) add(d *fioDirection, l *fioLatency, h *measure.Histogram) {
	seconds := float64(d.Runtime) / 1000
	c.rate += float64(d.Operations) / seconds
	c.throughput += float64(d.Bytes) / seconds
	c.operations += d.Operations
	// The mean is of total latency if fio has it.
	mean, n := d.Latency.Mean, d.Latency.Count
	if mean == 0 {
		mean = l.Mean
	}
	if n == 0 {
		n = d.Operations
	}
	c.weight += float64(n)
	c.total += mean * float64(n)
	c.longest = max(c.longest, d.Latency.Max, l.Max)
	c.parts++
	c.noLatencies = c.noLatencies || mean == 0
	c.noBins = c.noBins || len(l.Bins) == 0
	c.percentiles, c.percentileSamples = l.Percentiles, n
	c.histogram.Merge(h)
}

// addAverages adds the averages of a run of vdbench. How the bytes divide into reads and writes is not known.
func (p *pool) addAverages(r hcibench.Run) {
	for _, of := range []struct {
		class                  string
		rate, throughput, mean float64
	}{{"", r.IOPS, r.Throughput, r.Mean}, {"read", r.IOPS * r.Read, math.NaN(), r.ReadMean}, {"write", r.IOPS * (1 - r.Read), math.NaN(), r.WriteMean}} {
		if of.rate == 0 {
			continue
		}
		c := p.class(of.class)
		c.rate, c.throughput = c.rate+of.rate, c.throughput+of.throughput
		c.weight, c.total = c.weight+of.rate, c.total+of.mean*1e9*of.rate
		if of.class == "" {
			c.longest = max(c.longest, r.Max*1e9)
		}
		c.parts, c.noBins, c.uncounted = c.parts+1, true, true
	}
}

// addRates adds rates without latencies.
func (p *pool) addRates(iops, throughput float64) {
	c := p.class("")
	c.rate, c.throughput = c.rate+iops, c.throughput+throughput
	c.parts, c.noBins, c.noLatencies, c.uncounted = c.parts+1, true, true, true
}

// merge adds another pool, whose jobs ran at the same time.
func (p *pool) merge(other *pool) {
	p.failed, p.trims, p.length = p.failed+other.failed, p.trims+other.trims, max(p.length, other.length)
	p.broken = cmp.Or(p.broken, other.broken)
	for _, w := range other.warnings {
		p.warn(w)
	}
	for class, o := range other.classes {
		c := p.class(class)
		c.rate, c.throughput, c.operations = c.rate+o.rate, c.throughput+o.throughput, c.operations+o.operations
		c.total, c.weight, c.longest = c.total+o.total, c.weight+o.weight, max(c.longest, o.longest)
		c.noBins, c.noLatencies, c.uncounted = c.noBins || o.noBins, c.noLatencies || o.noLatencies, c.uncounted || o.uncounted
		c.parts += o.parts
		c.percentiles, c.percentileSamples = o.percentiles, o.percentileSamples
		c.histogram.Merge(o.histogram)
	}
}

// timed reports whether fio kept latencies of all jobs.
func (c *pooled) timed() bool { return c.weight > 0 && c.total > 0 && !c.noLatencies }

// leastBeyond is the fewest response times above a quantile.
const leastBeyond = 10

// quantile is a quantile in seconds, if the data suffice.
func (c *pooled) quantile(q float64) (float64, bool) {
	if !c.noBins {
		d, ok := c.histogram.Quantile(q)
		return d.Seconds(), ok
	}
	v, ok := c.percentiles[strconv.FormatFloat(100*q, 'f', 6, 64)]
	return v / 1e9, ok && c.parts == 1 && float64(c.percentileSamples)*(1-q) >= leastBeyond-1e-9
}

// record converts the sum to a record, with the histograms of the classes that have bins.
func (p *pool) record() (measure.Record, map[string]*measure.Histogram) {
	r := measure.Record{
		Phase: "main", Levels: map[string]string{}, Values: map[string]float64{}, Counts: map[string]int64{},
		Window: measure.Window{End: p.length.Seconds(), Steady: measure.SteadyUnknown}, Void: p.broken,
		Checks: []measure.Check{{Name: "imported", State: measure.Unknown, Detail: notRandomised}},
	}
	histograms := map[string]*measure.Histogram{}
	for class, c := range p.classes {
		prefix := ""
		if class != "" {
			prefix = class + "."
		}
		if !c.uncounted {
			r.Counts[prefix+"operations"] = c.operations
		}
		r.Values[prefix+"iops"], r.Values[prefix+"throughput"] = c.rate, c.throughput
		if c.timed() {
			r.Values[prefix+"mean"] = c.total / c.weight / 1e9
		}
		if c.timed() && c.longest > 0 {
			r.Values[prefix+"max"] = c.longest / 1e9
		}
		for _, q := range measure.Quantiles {
			if v, ok := c.quantile(q.Q); ok {
				r.Values[prefix+q.Name] = v
			}
		}
		switch {
		case !c.noBins:
			histograms[class] = c.histogram
		case c.parts > 1 && c.timed() && !c.uncounted:
			p.warn("percentiles of several jobs cannot be averaged and are left out; run fio with --output-format=json+, whose histograms can be merged")
		}
	}
	if p.trims > 0 {
		p.warn(fmt.Sprintf("%d trims are left out: rates and latencies are those of reads and writes", p.trims))
	}
	if all := p.classes[""]; all == nil || !all.uncounted {
		r.Counts["errors"] = p.failed
	}
	if p.length > 0 {
		r.Values["errors"] = float64(p.failed) / p.length.Seconds()
	}
	r.Warnings = append([]string{notRandomised}, p.warnings...)
	for name, v := range r.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			delete(r.Values, name)
		}
	}
	return r, histograms
}

const notRandomised = foreign.NotRandomised
