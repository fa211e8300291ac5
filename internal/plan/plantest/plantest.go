// Package plantest has the repetitions and rates that tests of searches and growths share.
package plantest

import (
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Repetitions returns the number of repetitions, and a seed: more, and with another seed each
// day, with PLIMSOLL_DEEP=1. PLIMSOLL_SEED sets the seed.
func Repetitions(t *testing.T, fast, deep int) (n int, seed uint64) {
	t.Helper()
	t.Parallel()
	n, seed = fast, 20260101
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		n, seed = deep, uint64(time.Now().Unix()/86_400)
	}
	if s := os.Getenv("PLIMSOLL_SEED"); s != "" {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("PLIMSOLL_SEED: %v", err)
		}
		seed = v
	}
	t.Logf("PLIMSOLL_SEED=%d repeats this run of %d", seed, n)
	return n, seed
}

// Rate is a counted share.
type Rate struct{ Hits, Of int }

// Count counts one more.
func (c *Rate) Count(hit bool) {
	c.Of++
	if hit {
		c.Hits++
	}
}

// Share is the part that was hit.
func (c Rate) Share() float64 { return float64(c.Hits) / float64(c.Of) }

// slack is three standard errors of a share, so that a correct rate seldom fails.
func (c Rate) slack(at float64) float64 { return 3 * math.Sqrt(at*(1-at)/float64(c.Of)) }

// AtLeast fails a test where the share is significantly lower.
func (c Rate) AtLeast(t *testing.T, what string, least float64) {
	t.Helper()
	t.Logf("%s: %.4f of %d", what, c.Share(), c.Of)
	if c.Of == 0 || c.Share() < least-c.slack(least) {
		t.Errorf("%s: %.4f of %d, want at least %.3f", what, c.Share(), c.Of, least)
	}
}

// AtMost fails a test where the share is significantly higher.
func (c Rate) AtMost(t *testing.T, what string, most float64) {
	t.Helper()
	t.Logf("%s: %.4f of %d", what, c.Share(), c.Of)
	if c.Of == 0 || c.Share() > most+c.slack(most) {
		t.Errorf("%s: %.4f of %d, want at most %.3f", what, c.Share(), c.Of, most)
	}
}

// Median is the upper median; NaN for no values.
func Median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	if len(s) == 0 {
		return math.NaN()
	}
	return s[len(s)/2]
}
