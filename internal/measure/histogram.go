package measure

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram counts response times from 1 ns to 1 h with three significant
// digits. Histograms merge by adding, and only so: no quantile is ever averaged.
type Histogram struct {
	h *hdrhistogram.Histogram
}

const (
	lowest  = 1
	highest = int64(time.Hour)
	digits  = 3
)

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return &Histogram{hdrhistogram.New(lowest, highest, digits)} }

// Record counts n response times. A time outside the range counts at its edge,
// because a response that took over an hour must not vanish.
func (h *Histogram) Record(d time.Duration, n int64) {
	v := min(max(int64(d), lowest), highest)
	if err := h.h.RecordValues(v, n); err != nil {
		panic(fmt.Sprintf("measure: %d ns does not fit its own range: %v", v, err))
	}
}

// Merge adds every count of other.
func (h *Histogram) Merge(other *Histogram) error {
	if dropped := h.h.Merge(other.h); dropped > 0 {
		return fmt.Errorf("merge histograms: %d values do not fit", dropped)
	}
	return nil
}

// Count is how many response times were recorded.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// Mean is the mean response time, within the histogram's resolution.
func (h *Histogram) Mean() time.Duration { return time.Duration(h.h.Mean()) }

// Max is the longest response time, within the histogram's resolution.
func (h *Histogram) Max() time.Duration { return time.Duration(h.h.Max()) }

// Quantile returns the q quantile (0 < q < 1). It answers false where fewer
// than ten response times lie above it, because such a quantile is one of the
// largest values seen and no estimate.
func (h *Histogram) Quantile(q float64) (time.Duration, bool) {
	if float64(h.Count())*(1-q) < 10-1e-9 {
		return 0, false
	}
	return time.Duration(h.h.ValueAtQuantile(q * 100)), true
}

// Bar is one bucket that was hit.
type Bar struct {
	From, To time.Duration // inclusive
	Count    int64
}

// Bars lists the buckets that were hit, from short to long.
func (h *Histogram) Bars() []Bar {
	var bars []Bar
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			bars = append(bars, Bar{time.Duration(b.From), time.Duration(b.To), b.Count})
		}
	}
	return bars
}

// MarshalText encodes the histogram as HdrHistogram V2, compressed, in base64.
func (h *Histogram) MarshalText() ([]byte, error) {
	return h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
}

// UnmarshalText decodes what MarshalText wrote.
func (h *Histogram) UnmarshalText(text []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decode histogram: %v", r)
		}
	}()
	h.h, err = hdrhistogram.Decode(text)
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	return nil
}
