package measure

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Histogram counts response times from 1 ns to 1 h with three significant digits, in the
// buckets of HdrHistogram. Histograms merge by adding counts; quantiles are never averaged.
//
// Counters are allocated in pages when first used. Response times of one load are close
// together, so a histogram takes some tens of kilobytes instead of 270, and a load can have
// one per class and interval.
type Histogram struct {
	pages [pageCount]*page
	total int64
}

// The layout of HdrHistogram for these bounds and digits (Gil Tene, HdrHistogram,
// class AbstractHistogram): values below 2048 have a bucket each, and each
// further power of two has 1024.
const (
	lowest         = 1
	highest        = int64(time.Hour)
	digits         = 3
	subBuckets     = 2048
	half           = subBuckets / 2
	halfMagnitude  = 10
	bucketCount    = 32
	counters       = (bucketCount + 1) * half
	pageSize       = 256
	pageCount      = counters / pageSize
	quantileLeast  = 10 // fewest values above a quantile
	quantileMargin = 1e-9
)

type page [pageSize]int64

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return new(Histogram) }

// Record counts n response times. A time outside the range counts at its edge.
func (h *Histogram) Record(d time.Duration, n int64) {
	h.add(indexOf(min(max(int64(d), lowest), highest)), n)
}

func (h *Histogram) add(index int, n int64) {
	p := h.pages[index/pageSize]
	if p == nil {
		p = new(page)
		h.pages[index/pageSize] = p
	}
	p[index%pageSize] += n
	h.total += n
}

// indexOf is the counter of a value within the bounds.
func indexOf(v int64) int {
	bucket := bits.Len64(uint64(v)|(subBuckets-1)) - (halfMagnitude + 1)
	return (bucket+1)<<halfMagnitude + int(v>>bucket) - half
}

// rangeOf is the smallest and the largest value of a counter.
func rangeOf(index int) (from, to int64) {
	bucket, sub := index>>halfMagnitude-1, int64(index&(half-1)+half)
	if bucket < 0 {
		bucket, sub = 0, sub-half
	}
	return sub << bucket, (sub+1)<<bucket - 1
}

// each calls f with every counter that is not 0, from short to long, until f returns false.
func (h *Histogram) each(f func(index int, n int64) bool) {
	for k, p := range h.pages {
		if p == nil {
			continue
		}
		for i, n := range p {
			if n != 0 && !f(k*pageSize+i, n) {
				return
			}
		}
	}
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other *Histogram) {
	other.each(func(index int, n int64) bool {
		h.add(index, n)
		return true
	})
}

// Count is the number of response times recorded.
func (h *Histogram) Count() int64 { return h.total }

// Mean is the mean response time, within the histogram's resolution.
func (h *Histogram) Mean() time.Duration {
	if h.total == 0 {
		return 0
	}
	sum := 0.0
	h.each(func(index int, n int64) bool {
		from, to := rangeOf(index)
		sum += float64(n) * float64(from+(to-from+1)/2)
		return true
	})
	return time.Duration(sum / float64(h.total))
}

// Max is the longest response time, within the histogram's resolution.
func (h *Histogram) Max() time.Duration {
	var longest int64
	h.each(func(index int, _ int64) bool {
		_, longest = rangeOf(index)
		return true
	})
	return time.Duration(longest)
}

// Quantile returns the q quantile (0 < q < 1). It returns false if fewer than ten response
// times lie above it: such a quantile is one of the largest values, not an estimate.
func (h *Histogram) Quantile(q float64) (time.Duration, bool) {
	if float64(h.total)*(1-q) < quantileLeast-quantileMargin {
		return 0, false
	}
	rank := max(1, int64(math.Round(q*float64(h.total))))
	var value int64
	h.each(func(index int, n int64) bool {
		rank -= n
		_, value = rangeOf(index)
		return rank > 0
	})
	return time.Duration(value), true
}

// Hits is the number of counters that are not 0, the size of the compact form. It is 0 for
// nil.
func (h *Histogram) Hits() int {
	n := 0
	if h == nil {
		return n
	}
	h.each(func(int, int64) bool { n++; return true })
	return n
}

// Bar is one bucket that is not empty.
type Bar struct {
	From, To time.Duration // inclusive
	Count    int64
}

// Bars lists the buckets that are not empty, from short to long.
func (h *Histogram) Bars() []Bar {
	bars := make([]Bar, 0, h.Hits())
	h.each(func(index int, n int64) bool {
		from, to := rangeOf(index)
		bars = append(bars, Bar{time.Duration(from), time.Duration(to), n})
		return true
	})
	return bars
}

// compact is a histogram as the list of its counters that are not 0.
type compact struct {
	index []uint16
	count []int64
}

func (h *Histogram) compact() compact {
	n := h.Hits()
	c := compact{make([]uint16, 0, n), make([]int64, 0, n)}
	h.each(func(index int, n int64) bool {
		c.index = append(c.index, uint16(index))
		c.count = append(c.count, n)
		return true
	})
	return c
}

func (c compact) histogram() *Histogram {
	h := new(Histogram)
	h.mergeCompact(c)
	return h
}

func (h *Histogram) mergeCompact(c compact) {
	for i, index := range c.index {
		h.add(int(index), c.count[i])
	}
}

// max is the longest response time, within the histogram's resolution.
func (c compact) max() time.Duration {
	if len(c.index) == 0 {
		return 0
	}
	_, to := rangeOf(int(c.index[len(c.index)-1]))
	return time.Duration(to)
}

// longest lists the buckets of the n longest response times, from long to short. The last
// bucket may hold more of them.
func (c compact) longest(n int64) (bars []Bar) {
	for i := len(c.index) - 1; i >= 0 && n > 0; i-- {
		from, to := rangeOf(int(c.index[i]))
		bars = append(bars, Bar{time.Duration(from), time.Duration(to), c.count[i]})
		n -= c.count[i]
	}
	return bars
}

// String summarises the histogram, for logs and failing tests.
func (h *Histogram) String() string {
	return fmt.Sprintf("%d response times, mean %v, longest %v", h.total, h.Mean(), h.Max())
}
