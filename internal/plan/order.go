package plan

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// wholePlots groups the arms by their levels of the restart factors, or returns
// nil where no restart factor is varied.
func wholePlots(factors []study.Factor, arms []Arm) [][]int {
	var plots [][]int
	place := map[string]int{}
	for _, a := range arms {
		key := ""
		for _, f := range factors {
			if f.Restart && len(f.Levels) > 1 {
				key += fmt.Sprintf("%q", a.Levels[f.FullName()])
			}
		}
		if key == "" {
			return nil
		}
		i, ok := place[key]
		if !ok {
			i = len(plots)
			place[key] = i
			plots = append(plots, nil)
		}
		plots[i] = append(plots[i], a.Index)
	}
	return plots
}

// block returns the trials of one block, numbered from the given number. Its order is by its
// position among the complete blocks, so that a repeated block keeps the balance.
func (p *Plan) block(block, position, number int, phase string) []Trial {
	seed := loadSeed(p.Seed, block)
	trials := make([]Trial, 0, len(p.Arms))
	add := func(arm, plot int) {
		slot := len(trials)
		trials = append(trials, Trial{Number: number + slot, Phase: phase, Block: block, Slot: slot + 1, Arm: arm, Seed: seed, Plot: plot})
	}
	if p.plots == nil {
		for _, arm := range p.order(len(p.Arms), 0, block, position) {
			add(arm, 0)
		}
		return trials
	}
	plot := (block - 1) * len(p.plots)
	for _, whole := range p.order(len(p.plots), 0, block, position) {
		plot++
		arms := p.plots[whole]
		for _, i := range p.order(len(arms), 1+whole, plot, position) {
			add(arms[i], plot)
		}
	}
	return trials
}

// order is the order of n arms or whole plots in a block. Stream 0 is for whole plots, or
// for arms without them; each whole plot has its own.
func (p *Plan) order(n, stream, number, position int) []int {
	switch {
	case p.Order == Balanced:
		return stat.Balanced(n, p.Seed^uint64(stream)<<32, position)
	case stream == 0:
		return stat.Shuffle(n, p.Seed, number)
	}
	return stat.Shuffle(n, ^p.Seed, number)
}

// loadSeed is common to the trials of a block, so that arms have the same random choices. It
// is below 2^53, which JSON readers keep exactly.
func loadSeed(seed uint64, block int) uint64 {
	return rand.New(rand.NewPCG(seed, uint64(block))).Uint64() >> 11
}

// Trials lists the plan before the first trial: every block up to the last look, or the pilot
// if its results determine how many blocks follow.
func (p *Plan) Trials() iter.Seq[Trial] {
	return func(yield func(Trial) bool) {
		for b, n := 1, 1; b <= p.planned(); b++ {
			for _, t := range p.block(b, b-1, n, p.phase(b-1)) {
				if !yield(t) {
					return
				}
			}
			n += len(p.Arms)
		}
	}
}

// planned is the number of blocks known before the start.
func (p *Plan) planned() int {
	if p.Pilot > 0 {
		return p.Pilot
	}
	return p.Most
}

// phase is the phase of a block after the given number of complete ones.
func (p *Plan) phase(complete int) string {
	if complete < p.Pilot {
		return PhasePilot
	}
	return PhaseMain
}
