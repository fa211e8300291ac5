// Package balance decides which VMs move between hosts, and why the others stay.
//
// Mandatory moves come first: hosts in maintenance are emptied, VMs of failed hosts restart,
// must-rules and reservations are repaired. Should-rules follow, and load balance comes last.
// A move for load balance must help more VMs than it costs; its gain is less contention, not
// an even spread.
package balance

import (
	"fmt"
	"math"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/goal"
	"plimsoll/internal/cluster/balance/refusal"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/balance/repair"
	"plimsoll/internal/cluster/balance/search"
	"plimsoll/internal/cluster/balance/swap"
)

// Round makes a plan for a layout. It does not change the layout.
func Round(l *cluster.Layout, x *cluster.Index, o advice.Options) advice.Plan {
	d := draft.New(l.Clone(), x, o)
	d.Plan.Before = d.Balance()
	repair.Mandatory(d)
	if o.Mandatory {
		d.Plan.Quiet = "only mandatory moves are planned: plimsoll cluster balance plans the others"
	} else {
		repair.ShouldRules(d)
		d.Plan.Quiet = even(d)
	}
	d.Plan.After = d.Balance()
	return d.Plan
}

// Unmet lists the violations of should-rules that a plan for a layout leaves, in the order of
// the rules.
func Unmet(l *cluster.Layout, x *cluster.Index, o advice.Options, p *advice.Plan) []advice.Unmet {
	if !repair.Soft(l.Cluster()) {
		return nil
	}
	d := draft.New(l.Clone(), x, o)
	for _, m := range p.Moves {
		d.Move([]cluster.VMID{m.VM}, m.To, m)
	}
	return repair.Unmet(d)
}

// even moves VMs off hosts, each time off the host with the best move, until the balance is
// good enough or no move is worth it. It returns why it stops.
func even(d *draft.Draft) (quiet string) {
	if d.Cluster.Settings.Level <= 1 {
		return "level 1 makes mandatory moves only"
	}
	d.Balancing()
	f := relief.New(d)
	enough, moves, swaps := goal.New(d, f), search.New(d, f), swap.New(d, f)
	moves.Renew()
	for begin := len(d.Plan.Moves); ; {
		if quiet = enough.Reached(); quiet != "" {
			return quiet
		}
		left, now := math.MaxInt, len(d.Plan.Moves)
		if most := d.Cluster.Settings.MostMoves; most > 0 {
			if left = most - (now - begin); left <= 0 {
				return fmt.Sprintf("%d moves are enough for one round", most)
			}
		}
		switch from, found := moves.Best(); {
		case found:
			moves.Off(from, left)
		case f.Shrink():
			moves.Renew()
		case swaps.Make(left):
			moves.Changed(now)
		default:
			return refusal.Report(d, f, refusal.Best(d))
		}
	}
}
