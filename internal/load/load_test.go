package load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Loops whose pauses are drawn, exponentially or evenly, are as far from Little's law as
// chance explains, all but a few of them.
func TestChance(t *testing.T) {
	const answer, loops, length = .002, 4, 20.
	for _, c := range []struct {
		think Think
		each  float64 // operations between two pauses
	}{
		{Think{Mean: 40 * time.Millisecond, Exponential: true}, 1},
		{Think{Mean: 200 * time.Millisecond, Uniform: true}, 8},
	} {
		d := Demand{Concurrency: loops, Think: time.Duration(float64(c.think.Mean) / c.each), Drawn: c.each}
		rng, beyond := rand.New(rand.NewPCG(1, 2)), 0
		const often = 2000
		for range often {
			operations := 0
			for range loops {
				for at := c.think.Draw(rng).Seconds(); at < length; {
					operations++
					if at += answer; operations%int(c.each) == 0 {
						at += c.think.Draw(rng).Seconds()
					}
				}
			}
			off := float64(operations)/length*(answer+d.Think.Seconds())/loops - 1
			// What is under way at the end counts on one side only.
			if math.Abs(off) > d.Chance(int64(operations), answer)+loops*c.each/float64(operations) {
				beyond++
			}
		}
		if beyond > often/100 {
			t.Errorf("%+v: %d of %d are beyond it", c, beyond, often)
		}
		if far := d.Chance(int64(length*loops/(answer+d.Think.Seconds())), answer); far <= 0 || far > .3 {
			t.Errorf("%+v: it allows %g", c, far)
		}
	}
	if c := (Demand{Think: time.Second}).Chance(10, 1); c != 0 {
		t.Errorf("pauses that are alike leave %g to chance", c)
	}
}
