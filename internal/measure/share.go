package measure

import (
	"fmt"
	"math"
)

// Share is one property in a self-check: the observed share of draws, and the range of its
// expectation.
type Share struct {
	What      string
	Count, Of int64
	Low, High float64
}

// withinChance reports whether the share is in its range, or outside by chance at most.
func (s Share) withinChance() bool {
	if s.Of == 0 {
		return true
	}
	got := float64(s.Count) / float64(s.Of)
	return got-s.Low >= -ChanceOfShare(s.Low, s.Of) && got-s.High <= ChanceOfShare(s.High, s.Of)
}

func (s Share) text() string {
	text := fmt.Sprintf("%s %.3g %% (%.4g", s.What, 100*float64(s.Count)/math.Max(1, float64(s.Of)), 100*s.Low)
	if s.High > s.Low {
		text += fmt.Sprintf(" to %.4g", 100*s.High)
	}
	return text + ")"
}

// Distribution is the self-check of a load's random draws: it fails if chance does not explain
// a share.
func Distribution(shares []Share) Check {
	c := Check{Name: "distribution", State: Pass}
	for i, s := range shares {
		if !s.withinChance() {
			c.State = Fail
		}
		if i > 0 {
			c.Detail += "; "
		}
		c.Detail += s.text()
	}
	return c
}
