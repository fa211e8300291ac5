package measure

import (
	"fmt"
	"math"
)

// Share is a line of a self-check: the share of draws with a property, and the range of
// its expectation.
type Share struct {
	What      string
	Count, Of int64
	Low, High float64
}

// fair reports whether chance explains the share: it is in its range, or no farther
// outside than chance takes it.
func (s Share) fair() bool {
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

// Distribution is the self-check of a load: it fails if chance does not explain a share.
func Distribution(shares []Share) Check {
	c := Check{Name: "distribution", State: Pass}
	for i, s := range shares {
		if !s.fair() {
			c.State = Fail
		}
		if i > 0 {
			c.Detail += "; "
		}
		c.Detail += s.text()
	}
	return c
}
