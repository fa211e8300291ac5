package peak

import (
	"math"

	"plimsoll/internal/stat"
)

const (
	rungs      = 5    // planned rungs
	lowestRung = 0.90 // of the centre
	rungStep   = 0.04
	wideShare  = 0.1 // relative half-width of the estimate's interval above which the ladder is repeated, up to twice
	edgeJump   = 4.  // times by which response times are below and above their limits at an edge
	mostAdded  = 12  // rungs added until both sides of the limit are covered
)

// rung is the rate of a level. Levels below 0 and above 4 are additional ones.
func rung(centre float64, level int) float64 {
	return centre * (lowestRung + rungStep*float64(level))
}

// ladder is the range of levels in use, inclusive.
type ladder struct {
	centre      float64
	first, last int
	added       int
}

// climber tries rates around the bracket.
type climber struct {
	prober *prober
	record *record
	answer *Answer
}

// climb tries the ladder block by block. After each, levels are added beyond an end that is
// not on its side of the limit. Further blocks are left out where the limit is an edge.
func (c *climber) climb(centre float64) {
	l := ladder{centre: centre, last: rungs - 1}
	for block := 0; block < c.prober.Blocks && !c.edge(); block++ {
		if c.pass(&l, block, block); c.record.above > 0 {
			return
		}
	}
	c.widen(&l)
	for block := c.prober.Blocks; block < 2*c.prober.Blocks && c.wide(); block++ {
		c.pass(&l, block, block)
	}
}

// wide reports whether the estimate is too uncertain.
func (c *climber) wide() bool {
	fit := c.fits()
	if !fit.Crosses || fit.High-fit.Low <= 2*wideShare*fit.Rate || c.record.otherwise(fit) != "" {
		return false
	}
	_, drifts := moved(c.record.points(fit.limit), fit.Rate)
	_, fail := c.record.spentFrom(c.answer.Stall != nil)
	return !drifts && fail == 0
}

// edge reports whether the ladder shows a sharp limit: all levels up to a rate pass and all above it fail, either by errors or another limit
// with response times within theirs, or because response times jump from far below their limits to far above. No curve can be
// fitted to such a limit; the probes after the ladder find it.
func (c *climber) edge() bool {
	highest, lowest, others, jumps := 0., math.Inf(1), true, true
	for _, t := range c.record.climbed() {
		if t.Pass {
			highest = math.Max(highest, t.Probe.Rate)
			jumps = jumps && c.within(t.Result, 1/edgeJump)
			continue
		}
		lowest = math.Min(lowest, t.Probe.Rate)
		others = others && c.within(t.Result, 1)
		jumps = jumps && c.beyond(t.Result)
	}
	return highest > 0 && highest < lowest && !math.IsInf(lowest, 1) && (others || jumps)
}

// within reports whether all response times are within a share of their limits.
func (c *climber) within(r Result, share float64) bool {
	for i, l := range c.prober.Limits {
		if !(r.quantile(i) <= share*l.Seconds) {
			return false
		}
	}
	return true
}

// beyond reports whether operations queue without end, or a response time is far above its limit.
func (c *climber) beyond(r Result) bool {
	for i, l := range c.prober.Limits {
		if r.quantile(i) >= edgeJump*l.Seconds {
			return true
		}
	}
	return r.Overloaded
}

// widen adds levels while the fitted limit is beyond an end of the ladder. Added levels are
// tried in all blocks.
func (c *climber) widen(l *ladder) {
	for l.added < mostAdded {
		level := l.first - 1
		switch fit := c.fits(); {
		case fit.beyond > 0 && c.record.foreign(l.last, fit.limit):
			return
		case fit.beyond > 0:
			level = l.last + 1
		case fit.beyond == 0 || rung(l.centre, level) < c.prober.Lowest:
			return
		}
		if !c.prober.allowed(rung(l.centre, level)) {
			return
		}
		c.add(l, level, [2]int{0, c.prober.Blocks - 1})
	}
}

// add adds a level to the ladder, and tries it in the blocks from the first to the last.
func (c *climber) add(l *ladder, level int, blocks [2]int) {
	for block := blocks[0]; block <= blocks[1]; block++ {
		c.tryRung(l, level, block)
	}
	l.first, l.last = min(l.first, level), max(l.last, level)
	l.added++
}

func (c *climber) ladderOnly(centre float64, block int) {
	l := ladder{centre: centre, last: rungs - 1}
	c.answer.Centre = centre
	c.pass(&l, block, 0)
	fit := c.fits()
	c.answer.Limiting = c.record.reason()
	other := c.record.otherwise(fit)
	switch {
	case other != "":
		c.answer.Limiting = other
		c.answer.end(NotIdentified, "%s was not kept where the response time was", other)
	case !fit.Crosses && c.prober.ceiling > 0:
		c.answer.end(GeneratorLimited, "the generator could not carry %.6g/s", c.prober.ceiling)
	case !fit.Crosses:
		c.answer.end(NotIdentified, "%s", fit.Why)
	default:
		c.answer.Estimate, c.answer.Low, c.answer.High, c.answer.Limiting = fit.Rate, fit.Low, fit.High, c.prober.Limits[fit.limit].Name
		c.answer.end(Identified, "%s", fit.LeftOut())
	}
}

// pass tries each level of the ladder once, as the given block, and then the levels
// that have to be added, as often as the others were tried. done is the number of
// blocks before this one.
func (c *climber) pass(l *ladder, block, done int) {
	for _, i := range stat.Shuffle(l.last-l.first+1, c.prober.Seed, block) {
		c.tryRung(l, l.first+i, block)
	}
	if done == 0 && c.prober.restarts > 0 {
		if c.record.above = c.surpass(l); c.record.above > 0 {
			return
		}
	}
	for l.added < mostAdded {
		level, missing := c.missing(l)
		if !missing {
			break
		}
		c.add(l, level, [2]int{block - done, block})
	}
}

// tryRung tries a level, unless its rate is excluded.
func (c *climber) tryRung(l *ladder, level, block int) {
	if rate := rung(l.centre, level); c.prober.allowed(rate) {
		c.prober.try(Probe{Rate: rate, Phase: Rungs, Level: level, Block: block})
	}
}

func (p *prober) allowed(rate float64) bool {
	return rate > 0 && rate <= p.Highest && (p.ceiling == 0 || rate < p.ceiling)
}

// missing returns the level to add: one above if the highest does not fail, one below if the
// lowest does not pass. A tie counts as both.
func (c *climber) missing(l *ladder) (level int, yes bool) {
	if pass, fail := c.record.votes(l.last); pass > fail && c.prober.allowed(rung(l.centre, l.last+1)) {
		return l.last + 1, true
	}
	below := rung(l.centre, l.first-1)
	if pass, fail := c.record.votes(l.first); fail > pass && below > 0 && below >= c.prober.Lowest {
		return l.first - 1, true
	}
	return 0, false
}

// votes counts the passing and failed probes of a level.
func (r *record) votes(level int) (pass, fail int) {
	for _, t := range r.tried {
		switch {
		case t.Phase != Rungs || t.Level != level || t.GeneratorLimited:
		case t.Pass:
			pass++
		default:
			fail++
		}
	}
	return pass, fail
}

// climbed lists the valid probes of the ladder in order.
func (r *record) climbed() []tried {
	var out []tried
	for _, t := range r.tried {
		if t.Phase == Rungs && !t.GeneratorLimited {
			out = append(out, t)
		}
	}
	return out
}

// fitted is an estimate with the index of its limit, -1 if no limit is on a response time.
type fitted struct {
	Fit
	limit int
}

// fits estimates where each response time meets its limit, and returns the lowest.
func (c *climber) fits() fitted {
	best := fitted{limit: -1, Fit: Fit{Rate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Word: NotIdentified, Why: "no limit is on a response time"}}
	for i, l := range c.prober.Limits {
		fit := Estimate(c.record.points(i), l.Seconds, c.prober.Level)
		if best.limit < 0 || fit.Crosses && (!best.Crosses || fit.Rate < best.Rate) {
			best = fitted{fit, i}
		}
	}
	return best
}

// points are the probes of the ladder with the response time that a limit is on.
func (r *record) points(limit int) []Point {
	var out []Point
	for _, t := range r.climbed() {
		out = append(out, Point{Rate: t.Probe.Rate, Seconds: t.quantile(limit)})
	}
	return out
}

// otherwise names the limit that most probes of some level below the estimate missed although
// the fitted response time was within its limit, or not steady: the estimate is then not the
// capacity.
func (r *record) otherwise(fit fitted) string {
	if !fit.Crosses {
		return ""
	}
	name, lowest := "", math.MaxInt
	for _, t := range r.climbed() {
		if t.Probe.Rate < fit.Rate && t.Level < lowest && r.foreign(t.Level, fit.limit) {
			lowest = t.Level
		}
	}
	for _, t := range r.climbed() {
		if t.Level == lowest && !t.Pass && t.Reason != "" {
			name = t.Reason
		}
	}
	if lowest < math.MaxInt && name == "" {
		name = "another limit"
	}
	return name
}

// foreign reports whether most probes of a level failed although the response time was within
// the limit, or not steady.
func (r *record) foreign(level, limit int) bool {
	other, all := 0, 0
	for _, t := range r.climbed() {
		if t.Level == level {
			all++
			if !t.Pass && !(t.quantile(limit) > r.limits[limit].Seconds) {
				other++
			}
		}
	}
	return 2*other > all
}
