package trial

import (
	"testing"
	"time"

	"plimsoll/internal/study"
)

// The longest time of a search is that of probes which need as long for their quantile as the first.
func TestLongestOfASearch(t *testing.T) {
	most := .05
	for _, c := range []struct {
		name, metric string
		from         float64
		longest      time.Duration
		want         time.Duration
	}{
		{"10,000 operations at 500/s", "p99", 500, time.Minute, 40 * 25 * time.Second},
		{"no longer than a trial", "p99", 100, time.Minute, 40 * time.Minute},
		{"no longer than a confirmation", "p99", 100, 12 * time.Second, 40 * 37500 * time.Millisecond},
		{"enough in a window", "p99", 1000, time.Minute, 0},
		{"a lower quantile", "p50", 100, time.Minute, 0},
		{"no quantile", "errors", 100, time.Minute, 0},
	} {
		s := &study.Study{
			Load:    study.Load{Peak: &study.Peak{Within: []study.Limit{{Metric: c.metric, Max: &most}}, From: c.from}},
			Measure: study.Measure{Window: 10 * time.Second, Longest: c.longest, Blocks: 1},
		}
		if c.want > 0 {
			c.want += overhead
		}
		if got := Longest(s).Round(time.Millisecond); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
