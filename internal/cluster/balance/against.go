package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// con is what speaks against a move, the first of what there is. Most moves that are
// weighed are not made and few of them are told, so that it is put into words later.
type con uint8

const (
	nothing con = iota
	obstacle
	softRule
	returns
	strains
	neverCopied
	noGain
	tooLittle
	tooDear
	tooLate
)

// against is what speaks against a move, by which both hosts lose so many MHz less.
func (r *round) against(s place.Step, gain int64) con {
	switch {
	case r.l.Obstacle(s.VM, s.To).Check != cluster.Fine:
		return obstacle
	case r.l.Broken(s.VM, s.To) > r.l.Broken(s.VM, s.From):
		return softRule
	case r.options.Left != nil && r.options.Left(s.VM, s.To):
		return returns
	case r.barred[s] != "":
		return strains
	case copyTime(r.c, s) == 0:
		return neverCopied
	}
	if r.c.Settings.CostBenefit {
		if c := r.weigh(s, gain); c != nothing {
			return c
		}
	}
	if !r.inTime(s) {
		return tooLate
	}
	return nothing
}

// weigh is whether a move gains less than it costs, or too little.
func (r *round) weigh(s place.Step, gain int64) con {
	if gain <= 0 {
		return noGain
	}
	v := r.sure(s, gain)
	switch {
	case v.Gain < r.least(s.From)*v.Stable:
		return tooLittle
	case v.Net() <= 0:
		return tooDear
	}
	if v.Risk = r.risk(s, v); v.Net() <= 0 {
		return tooDear
	}
	return nothing
}

// words say what speaks against a move; empty for nothing.
func (r *round) words(s place.Step, v Value, c con) string {
	switch c {
	case obstacle:
		return r.l.Obstacle(s.VM, s.To).Text(r.c, s.To)
	case softRule:
		return "it would break a rule that should hold"
	case returns:
		return "it left that host not long ago"
	case strains:
		return r.barred[s]
	case neverCopied:
		return fmt.Sprintf("it writes %s/s to its memory, faster than it can be copied", cluster.MiB(r.c.VMs[s.VM].Demand.Dirty))
	case noGain:
		if r.byScore {
			return "the cluster's score would not rise: " + r.scoreWords(s)
		}
		return "no machine would run better: neither host is so full that it slows its machines down"
	case tooLittle:
		return fmt.Sprintf("it would save %d MHz, and level %d moves a machine for %d or more", v.Gain/max(1, v.Stable), r.c.Settings.Level, r.least(s.From))
	case tooDear:
		if r.byScore {
			return r.scoreWords(s) + ", which costs more than it brings: " + v.String()
		}
		return "it costs more than it brings: " + v.String()
	case tooLate:
		return fmt.Sprintf("its migration and those before it would not end before the next round, in %d s", r.interval())
	}
	return ""
}

// goodness is the part of its host's capacity that a move must save at least at each
// level, in thousandths.
var goodness = [6]int64{0, 0, 50, 25, 10, 0}

// least is what a move off a host must save at least, in MHz.
func (r *round) least(h cluster.HostID) int64 {
	return r.x.Capacity(h).CPU * goodness[min(r.c.Settings.Level, 5)] / 1000
}
