package plan

import (
	"strings"

	"plimsoll/internal/stat"
)

// block returns the trials of a block in their random order, without numbers.
// Each arm occurs once. Where factors need a restart, arms that share the
// levels of those factors run side by side: the group is a whole plot, groups
// run in random order, and so do the arms within each. Applying a restart
// factor once a block makes the block the repetition that counts.
func (p *Plan) block(number int, phase string) []Trial {
	seed := mix(p.Seed, uint64(number))
	trials := make([]Trial, 0, len(p.Arms))
	plots := p.plots()
	for i, g := range stat.Shuffle(len(plots), p.Seed, number) {
		plot := plots[g]
		for _, k := range stat.Shuffle(len(plot), mix(p.Seed, uint64(g)+1), number) {
			t := Trial{Phase: phase, Block: number, Slot: len(trials) + 1, Arm: plot[k], Seed: seed}
			if len(plots) > 1 && p.restarts() {
				t.Plot = (number-1)*len(plots) + i + 1
			}
			trials = append(trials, t)
		}
	}
	return trials
}

// plots groups the arms by the levels of the factors that need a restart; in a
// study without such factors every arm is one group by itself.
func (p *Plan) plots() [][]int {
	var groups [][]int
	index := map[string]int{}
	for _, a := range p.Arms {
		key := a.Label
		if p.restarts() {
			key = p.restartLevels(a)
		}
		i, seen := index[key]
		if !seen {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], a.Index)
	}
	return groups
}

func (p *Plan) restarts() bool {
	for _, f := range p.Study.Factors {
		if f.Restart {
			return true
		}
	}
	return false
}

func (p *Plan) restartLevels(a Arm) string {
	var key strings.Builder
	for _, f := range p.Study.Factors {
		if f.Restart {
			key.WriteString(a.Levels[f.FullName()])
			key.WriteByte(0)
		}
	}
	return key.String()
}

// mix derives a seed from a seed and a number (splitmix64, Steele et al. 2014).
func mix(seed, number uint64) uint64 {
	z := seed + (number+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
