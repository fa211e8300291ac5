package plan

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// Course is a study under way: a fold over its records. It is not safe for use
// by several goroutines.
type Course struct {
	plan    *Plan
	number  int     // trials begun
	block   int     // last block begun
	pending []Trial // of the block under way
	current []measure.Record
	spoiled bool          // a trial of the block under way is void
	retries int           // void trials so far
	pilot   int           // complete blocks of the pilot
	done    int           // complete blocks, pilot included
	target  int           // blocks to run; grows to Stein's total after the pilot
	values  [][][]float64 // ln of the headline, by headline, arm, complete block
	reason  string
}

// Status is how far a course is.
type Status struct {
	Trials  int    // that ended
	Blocks  int    // complete
	Target  int    // blocks to run, as far as is known
	Decided bool   // every headline of every arm
	Reason  string // why no more trials follow; empty while some do
}

// Begin starts the course of a study.
func (p *Plan) Begin() *Course {
	c := &Course{plan: p, target: p.Most, values: make([][][]float64, len(p.Study.Headline))}
	for h := range c.values {
		c.values[h] = make([][]float64, len(p.Arms))
	}
	if p.Study.Measure.Precision > 0 {
		c.target = pilotBlocks
	}
	return c
}

// Next names the trial to run now. It answers false when no more follow, which
// Status explains. A trial that was named must end in Done before the next is.
func (c *Course) Next() (Trial, bool) {
	if c.reason != "" {
		return Trial{}, false
	}
	if len(c.pending) == 0 {
		c.block++
		c.pending = c.plan.block(c.block, c.phase())
		c.current, c.spoiled = nil, false
	}
	t := c.pending[0]
	t.Number = c.number + 1
	return t, true
}

func (c *Course) phase() string {
	if c.plan.Study.Measure.Precision > 0 && c.done < pilotBlocks {
		return PhasePilot
	}
	return PhaseMain
}

// Done takes in the record of the trial that Next named. A void trial spoils
// its block: the rest of the block is not run, and a fresh block takes its place.
func (c *Course) Done(r measure.Record) {
	if len(c.pending) == 0 {
		if _, more := c.Next(); !more {
			return
		}
	}
	c.number++
	c.pending = c.pending[1:]
	if !r.Valid() {
		c.spoil(&r)
		return
	}
	c.current = append(c.current, r)
	if len(c.pending) == 0 {
		c.complete()
	}
}

func (c *Course) spoil(r *measure.Record) {
	c.pending, c.current = nil, nil
	c.retries++
	if allowed := c.plan.Study.Measure.Retries; c.retries > allowed {
		c.reason = fmt.Sprintf("stopped: %s void, and the study allows %d to be repeated; the last, trial %d: %s", count(c.retries, "trial is", "trials are"), allowed, r.Trial, r.Void)
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// complete takes in a block of which every trial is valid.
func (c *Course) complete() {
	for _, r := range c.current {
		for h, metric := range c.plan.Study.Headline {
			v, ok := r.Values[metric]
			if !ok || v <= 0 {
				v = math.NaN()
			}
			c.values[h][r.Arm] = append(c.values[h][r.Arm], math.Log(v))
		}
	}
	c.current = nil
	c.done++
	if c.plan.Study.Measure.Precision > 0 && c.done == pilotBlocks {
		c.target = c.steinTotal()
	}
	switch {
	case slices.Contains(c.plan.Looks, c.done) && c.decided():
		c.reason = fmt.Sprintf("decided at the planned look after %d blocks", c.done)
	case c.done >= c.target:
		c.reason = fmt.Sprintf("all %d blocks are complete", c.done)
	}
}

// steinTotal is the number of blocks that brings every headline of every arm
// to the precision asked for (Stein 1945): of the effect where there are
// several arms, of the mean where there is one.
func (c *Course) steinTotal() int {
	halfWidth := math.Log1p(c.plan.Study.Measure.Precision)
	total := pilotBlocks
	c.each(func(_ int, d []float64) bool {
		total = max(total, stat.SteinTotal(d, halfWidth, stat.FamilyLevel))
		return true
	})
	return min(total, mostPrecision)
}

// decided looks at every headline of every arm: each must have an answer. The
// level of a look is calibrated for one comparison; a study that waits for all of
// them stops no sooner than any one would, and Holm's correction judges the end.
func (c *Course) decided() bool {
	return c.each(func(_ int, d []float64) bool {
		t := stat.PairedT(d, c.plan.Level)
		return stat.Judge(t.Low, t.High, c.plan.Study.Margin) != stat.Undecided
	})
}

// each calls f with the paired log-ratios of every headline and arm, or with
// the logs themselves where there is one arm, until f answers false.
func (c *Course) each(f func(headline int, d []float64) bool) bool {
	for h := range c.values {
		arms := c.values[h]
		if len(arms) == 1 {
			if !f(h, arms[0]) {
				return false
			}
			continue
		}
		for a := 1; a < len(arms); a++ {
			d := make([]float64, len(arms[a]))
			for b := range d {
				d[b] = arms[a][b] - arms[0][b]
			}
			if !f(h, d) {
				return false
			}
		}
	}
	return true
}

// Status says how far the course is.
func (c *Course) Status() Status {
	return Status{Trials: c.number, Blocks: c.done, Target: c.target, Decided: c.done > 0 && c.decided(), Reason: c.reason}
}
