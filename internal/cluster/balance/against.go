package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/migrate"
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

// against is what speaks against a move of a unit, by which both hosts cost so many MHz less.
func (r *round) against(unit []cluster.VMID, s place.Step, gain int64) con {
	if c := r.forbidden(unit, s); c != nothing {
		return c
	}
	for _, s.VM = range unit {
		if r.options.Left != nil && r.options.Left(s.VM, s.To) {
			return returns
		}
		if migrate.CopyTime(r.c, s) == 0 {
			return neverCopied
		}
	}
	s.VM = unit[0]
	switch {
	case r.barred[s] != "":
		return strains
	case r.c.Settings.CostBenefit:
		if c := r.weigh(unit, s, gain); c != nothing {
			return c
		}
	}
	if !r.inTime(s) {
		return tooLate
	}
	return nothing
}

// forbidden is what must hold, or should, and would not after a move of a unit.
func (r *round) forbidden(unit []cluster.VMID, s place.Step) con {
	if len(unit) == 1 {
		switch {
		case r.l.Obstacle(s.VM, s.To).Check != cluster.Fine:
			return obstacle
		case r.l.Broken(s.VM, s.To) > r.l.Broken(s.VM, s.From):
			return softRule
		}
		return nothing
	}
	now, then := broken(r.l, unit), 0
	switch {
	case moved(r.l, unit, s.To, func() { then = broken(r.l, unit) }).Check != cluster.Fine:
		return obstacle
	case then > now:
		return softRule
	}
	return nothing
}

// weigh is whether a move gains less than it costs.
func (r *round) weigh(unit []cluster.VMID, s place.Step, gain int64) con {
	if gain <= 0 {
		return noGain
	}
	v := r.sure(unit, s, gain)
	if v.Net() <= 0 {
		return tooDear
	}
	if v.Risk = r.risk(unit, s, v); v.Net() <= 0 {
		return tooDear
	}
	return nothing
}

// words say what speaks against a move; empty for nothing.
func (r *round) words(s place.Step, v advice.Value, c con) string {
	switch c {
	case obstacle:
		return r.obstacleWords(s)
	case softRule:
		return r.softRuleWords(s)
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
		return r.noGainWords(s)
	case tooLittle:
		return r.relief.words(s, v)
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
