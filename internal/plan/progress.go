package plan

import (
	"fmt"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// Progress is a study in progress: a fold over its records, in order. Next and Status follow
// from the plan and the records alone.
type Progress struct {
	plan     *Plan
	complete int        // blocks with a valid trial in each slot
	last     int        // number of the last block that was started
	ended    int        // completed trials, including void ones
	void     int        // trials
	queue    []Trial    // remaining trials of the current block
	inSlot   int        // void trials in the current slot
	values   []cell     // of the current block
	pairs    []pairs    // by comparison
	target   int        // number of blocks; in a pilot until Stein's second stage sets it
	looked   []Decision // at the last look
	decided  bool       // all of them
	reason   string     // why the course is over; empty before
	short    bool
}

// cell holds the values of one arm in a block.
type cell struct {
	arm, trial int
	values     map[string]float64
	stolen     stat.Covariate
}

// Status is the progress of a course. The numbers of remaining trials exclude repetitions
// of void ones.
type Status struct {
	Phase   string `json:"phase"`
	Blocks  int    `json:"blocks"`  // complete ones
	Target  int    `json:"target"`  // maximum number of blocks; in a pilot, its blocks
	Trials  int    `json:"trials"`  // completed, including void ones
	Void    int    `json:"void"`    // of them
	AtLeast int    `json:"atLeast"` // remaining trials, if the next look decides
	AtMost  int    `json:"atMost"`  // remaining trials, if all blocks are needed
	// Decisions holds one entry for each headline and arm as of the last look.
	Decisions []Decision `json:"decisions,omitempty"`
	Decided   bool       `json:"decided"`          // all of them
	Short     bool       `json:"short,omitempty"`  // it ended without reaching its goal
	Reason    string     `json:"reason,omitempty"` // why no more trials follow, without a full stop; empty before
}

// Begin starts a course with no records.
func (p *Plan) Begin() *Progress {
	c := &Progress{plan: p, target: p.planned(), pairs: make([]pairs, p.comparisons())}
	c.fill()
	return c
}

// Replay folds records into a new course, to resume a run.
func (p *Plan) Replay(records []measure.Record) *Progress {
	c := p.Begin()
	for i := range records {
		c.Done(records[i])
	}
	return c
}

// fill starts the next block.
func (c *Progress) fill() {
	c.last++
	c.inSlot = 0
	c.queue = c.plan.block(c.last, c.complete, c.ended+1, c.plan.phase(c.complete))
	c.values = c.values[:0]
}

// Next returns the next trial, and false when the course is over. It returns the same trial
// until Done is called.
func (c *Progress) Next() (Trial, bool) {
	if c.reason != "" {
		return Trial{}, false
	}
	return c.queue[0], true
}

// Done adds the record of the trial that Next returned. A record of another trial ends the
// course, since it belongs to another plan.
func (c *Progress) Done(r measure.Record) {
	if c.reason != "" {
		return
	}
	if t := c.queue[0]; r.Trial != t.Number || r.Block != t.Block || r.Arm != t.Arm {
		c.stop(true, "the record of trial %d (block %d, arm %d) is not of the trial that was planned, %d (block %d, arm %d)",
			r.Trial, r.Block, r.Arm, t.Number, t.Block, t.Arm)
		return
	}
	c.ended++
	if !r.Valid() {
		c.repeat(r)
		return
	}
	c.queue, c.inSlot = c.queue[1:], 0
	c.values = append(c.values, cell{r.Arm, r.Trial, r.Values, stolen(&r)})
	if len(c.queue) > 0 {
		return
	}
	c.complete++
	c.take(c.values)
	if c.assess(); c.reason == "" {
		c.fill()
	}
}

// repeat repeats a void trial while retries last: in its slot, or with a new block that replaces the rest of this one. Arms that ran
// in a block beside the baseline remain compared.
func (c *Progress) repeat(r measure.Record) {
	c.void++
	if c.inSlot++; c.plan.Retry == InSlot && c.inSlot < mostInSlot && c.void <= c.plan.Study.Measure.Retries && len(measure.DataFailures(r.Checks)) == 0 {
		for i := range c.queue {
			c.queue[i].Number++
		}
		return
	}
	c.take(c.values)
	if len(measure.DataFailures(r.Checks)) > 0 {
		c.stop(true, "trial %d was not repeated, and no further trial was run: %s", r.Trial, r.Void)
		return
	}
	if retries := c.plan.Study.Measure.Retries; c.void > retries {
		c.stop(true, "%s void and %s repeated, so it stopped after %s; the last was trial %d: %s",
			plural(c.void, "trial was", "trials were"), mayBe(retries), count(c.complete, "complete block"), r.Trial, r.Void)
		return
	}
	c.fill()
}

func mayBe(retries int) string {
	if retries == 0 {
		return "none may be"
	}
	return fmt.Sprintf("only %d may be", retries)
}

func (c *Progress) stop(short bool, format string, args ...any) {
	c.short, c.reason = short, fmt.Sprintf(format, args...)
	c.queue = nil
}

// Status is the progress of the course.
func (c *Progress) Status() Status {
	s := Status{
		Phase: c.plan.phase(c.complete), Blocks: c.complete, Target: c.target, Trials: c.ended, Void: c.void,
		Decisions: c.looked, Decided: c.decided, Short: c.short, Reason: c.reason,
	}
	if c.reason != "" {
		return s
	}
	left := func(blocks int) int { return (blocks-c.complete-1)*len(c.plan.Arms) + len(c.queue) }
	s.AtMost = left(c.target)
	s.AtLeast = s.AtMost
	for _, look := range c.plan.Looks {
		if look > c.complete {
			s.AtLeast = left(look)
			break
		}
	}
	return s
}

func count(n int, noun string) string { return plural(n, noun, noun+"s") }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
