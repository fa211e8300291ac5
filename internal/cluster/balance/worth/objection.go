package worth

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/unit"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
)

// Objection is the first reason against a move. Few of the moves that are weighed are
// reported, so its text is made later.
type Objection uint8

// The objections, in the order of the checks, except TooLittle, which concerns all moves off a
// host. Moves are not valued before NeverCopied.
const (
	Nothing Objection = iota
	Obstacle
	SoftRule
	Returns
	Strains
	NeverCopied
	NoGain
	TooLittle
	TooDear
	TooLate
)

// Against is the objection to a move of a unit with a given saving, in MHz.
func Against(d *draft.Draft, vms []cluster.VMID, s place.Step, gain int64) Objection {
	if o := forbidden(d.Layout, vms, s); o != Nothing {
		return o
	}
	for _, s.VM = range vms {
		if d.Left(s.VM, s.To) {
			return Returns
		}
		if migrate.CopyTime(d.Cluster, s) == 0 {
			return NeverCopied
		}
	}
	s.VM = vms[0]
	switch {
	case d.Strain(s) != "":
		return Strains
	case d.Cluster.Settings.CostBenefit:
		if o := weigh(d, vms, s, gain); o != Nothing {
			return o
		}
	}
	if !d.Clock.InTime(vms, s) {
		return TooLate
	}
	return Nothing
}

// forbidden is the objection of rules, capacity or the state of the target.
func forbidden(l *cluster.Layout, vms []cluster.VMID, s place.Step) Objection {
	if len(vms) == 1 {
		switch {
		case l.Obstacle(s.VM, s.To).Check != cluster.Fine:
			return Obstacle
		case l.Broken(s.VM, s.To) > l.Broken(s.VM, s.From):
			return SoftRule
		}
		return Nothing
	}
	now, then := unit.Broken(l, vms), 0
	switch _, o := unit.Try(l, vms, s.To, func() { then = unit.Broken(l, vms) }); {
	case o.Check != cluster.Fine:
		return Obstacle
	case then > now:
		return SoftRule
	}
	return Nothing
}

// weigh is the objection that a move costs more than it gains.
func weigh(d *draft.Draft, vms []cluster.VMID, s place.Step, gain int64) Objection {
	if gain <= 0 {
		return NoGain
	}
	v := Sure(d, vms, s, gain)
	if v.Net() <= 0 {
		return TooDear
	}
	if v.Risk = risk(d, vms, s, v); v.Net() <= 0 {
		return TooDear
	}
	return Nothing
}
