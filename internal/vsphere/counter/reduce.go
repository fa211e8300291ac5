package counter

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reading is the samples of an object.
type reading struct {
	object *object
	spans  []span
	series []series // each with a value per span
	gone   bool     // the object vanished, or is hidden from the account
	why    string   // nothing was read
}

// series are the values of a counter.
type series struct {
	name   string    // the vCenter's name
	values []float64 // NaN if missing
}

// newest is the end of the newest sample; zero if there is none.
func (r *reading) newest() (end time.Time, length time.Duration) {
	for _, s := range r.spans {
		if s.end.After(end) {
			end, length = s.end, s.length
		}
	}
	return end, length
}

// window is the measured part of a load, by the vCenter's clock.
type window struct {
	from, to time.Time
	slack    time.Duration // by which samples may exceed it
}

// holds reports whether a sample is within the window.
func (w window) holds(s span) bool {
	return !s.begin().Before(w.from.Add(-w.slack)) && !s.end.After(w.to.Add(w.slack))
}

// inside are the indexes of the samples in the window by time, each time once.
func (w window) inside(spans []span) (list []int) {
	seen := map[int64]bool{}
	for i, s := range spans {
		if at := s.end.Unix(); w.holds(s) && !seen[at] {
			seen[at] = true
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b int) int { return spans[a].end.Compare(spans[b].end) })
	return list
}

// expected is the number of samples of an object in the window, if samples of this length
// continue before and after.
func (w window) expected(one span) int {
	before := int(one.begin().Sub(w.from.Add(-w.slack)) / one.length)
	after := int(w.to.Add(w.slack).Sub(one.end) / one.length)
	return before + 1 + after
}

// result is derived from the readings of all objects.
type result struct {
	readings []*reading
	counters map[string]float64
	missing  []string
}

func (r *result) set(name string, value float64) { r.counters[name] = value }

// kinds are those with objects.
func (r *result) kinds() (list []string) {
	for _, kind := range []string{ofVM, ofHost} {
		if slices.ContainsFunc(r.readings, func(one *reading) bool { return one.object.kind == kind }) {
			list = append(list, kind)
		}
	}
	return list
}

// present are the objects of a kind that count: those of a pattern only while they exist.
func (r *result) present(kind string) (list []*object) {
	for _, one := range r.readings {
		if one.object.kind == kind && !(one.gone && one.object.pattern) {
			list = append(list, one.object)
		}
	}
	return list
}

// reduce computes the counters of a window.
func (r *result) reduce(w window, lacking map[string]string) {
	for _, kind := range r.kinds() {
		r.kind(kind, w, lacking)
	}
}

// kind computes those of one kind of objects. Lacking is why the vCenter lacks a counter;
// empty if it has it.
func (r *result) kind(kind string, w window, lacking map[string]string) {
	var used []*reading
	left, whole := 0, true
	fewest := math.MaxInt
	for _, one := range r.readings {
		switch {
		case one.object.kind != kind:
			continue
		case one.gone && one.object.pattern:
			left++
			continue
		}
		n := r.samples(one, w)
		fewest, used = min(fewest, n), append(used, one)
		whole = whole && n > 0
	}
	if left > 0 {
		r.miss("%d %ss of a pattern vanished: the counters are those of the others", left, nouns[kind])
	}
	if len(used) == 0 {
		r.miss("no %s is left", nouns[kind])
		return
	}
	r.set(counted(kind), float64(len(used)))
	r.set(sampled(kind), float64(fewest))
	if !whole {
		return // already noted
	}
	var none []string
	for _, c := range counters(kind) {
		if why := lacking[c.name]; why != "" {
			r.miss("%s: %s", c.metric.Name, why)
			continue
		}
		if r.combine(c, used, w) {
			none = append(none, c.metric.Name)
		}
	}
	if len(none) > 0 {
		r.miss("the vCenter has no values of %ss for %s", nouns[kind], strings.Join(none, ", "))
	}
}

// samples counts those of an object in the window, and notes what is wrong with them.
func (r *result) samples(one *reading, w window) int {
	name := nouns[one.object.kind] + " " + one.object.name
	in := w.inside(one.spans)
	end, length := one.newest()
	switch {
	case one.gone:
		r.miss("%s was removed, or is no longer visible to the account", name)
	case one.why != "":
		r.miss("%s: %s", name, one.why)
	case len(one.spans) == 0:
		r.miss("%s has no samples: it may be off, or its host does not report", name)
	case len(in) == 0 && w.to.Sub(w.from) < 2*length:
		r.miss("%s: no whole sample of %v lies in the window of %v: measure.window must be longer", name, length, w.to.Sub(w.from).Round(time.Millisecond))
	case len(in) == 0:
		r.miss("%s: no sample lies in the window: the newest ends %v before its end", name, w.to.Sub(end).Round(time.Second))
	default:
		if gap := w.expected(one.spans[in[0]]) - len(in); gap > 0 {
			r.miss("%s: %d of %d samples of the window are missing%s", name, gap, gap+len(in), stale(end, length, w))
		}
	}
	return len(in)
}

// stale notes that samples ended early.
func stale(end time.Time, length time.Duration, w window) string {
	if behind := w.to.Sub(end); behind > length+w.slack {
		return fmt.Sprintf("; the newest ends %v before the window does", behind.Round(time.Second))
	}
	return ""
}

// combine computes a counter over all objects. If one lacks half of its samples or more, the
// result is missing: a sum of the others would be another quantity. It reports whether no
// object has the counter.
func (r *result) combine(c counter, used []*reading, w window) (none bool) {
	total, absent, whole := 0.0, 0, 0
	var lacking []string
	for _, one := range used {
		in := w.inside(one.spans)
		value, n := one.mean(c, in)
		absent, whole = absent+len(in)-n, whole+len(in)
		switch {
		case 2*n <= len(in):
			lacking = append(lacking, one.object.name)
		case c.worst:
			total = max(total, value)
		default:
			total += value
		}
	}
	switch {
	case len(lacking) > 0 && whole == absent:
		return true
	case len(lacking) > 0:
		r.miss("%s: %d of %d %ss lack it, such as %s", c.metric.Name, len(lacking), len(used), nouns[c.kind], lacking[0])
		return false
	case absent > 0:
		r.miss("%s: %d values are absent; its mean is that of the others", c.metric.Name, absent)
	}
	r.set(c.metric.Name, total)
	return false
}

// mean is the mean of a counter over samples, and the number of samples with a value.
func (one *reading) mean(c counter, in []int) (mean float64, n int) {
	for _, i := range in {
		if v, has := one.value(c, i); has {
			mean, n = mean+v, n+1
		}
	}
	return mean / float64(max(1, n)), n
}

// value is that of a sample, in the unit of the metric.
func (one *reading) value(c counter, sample int) (value float64, has bool) {
	i := slices.IndexFunc(one.series, func(s series) bool { return s.name == c.name })
	if i < 0 || math.IsNaN(one.series[i].values[sample]) {
		return 0, false
	}
	to := c.conversion()
	value = one.series[i].values[sample] * to.factor
	if to.events {
		value /= one.spans[sample].length.Seconds()
	}
	return value, true
}

// table lists the samples in the window as a CSV file.
func (r *result) table(w window, began time.Time) []byte {
	rows := [][]string{{"time_s", "kind", "name", "counter", "value"}}
	for _, one := range r.readings {
		for _, c := range counters(one.object.kind) {
			for _, i := range w.inside(one.spans) {
				if v, has := one.value(c, i); has {
					at := strconv.FormatFloat(one.spans[i].end.Sub(began).Seconds(), 'f', 3, 64)
					rows = append(rows, []string{at, nouns[c.kind], one.object.name, c.metric.Name, strconv.FormatFloat(v, 'g', -1, 64)})
				}
			}
		}
	}
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(rows); err != nil {
		return nil // writing to memory does not fail
	}
	return out.Bytes()
}
