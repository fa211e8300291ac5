package truth

import (
	"math"
	"math/rand/v2"

	"plimsoll/internal/stat"
)

// formerLooks are those of the former method.
var formerLooks = []int{6, 9, 13, 18, 24}

// formerly runs studies by the former method, which is kept here to compare with:
// each block in random order by itself, Student's t on the mean of the differences,
// and an end at the first look that excludes 0 or shows equivalence.
func formerly(n noise, studies int) row {
	level := stat.LookLevel(formerLooks)
	run := func(effect float64) []ended {
		return simulated(studies, func(seed uint64) ended {
			draw := n.draw(rand.New(rand.NewPCG(seed, 1)))
			var d []float64
			trial := 0
			for _, look := range formerLooks {
				for len(d) < look {
					d = append(d, formerBlock(draw, &trial, stat.Shuffle(2, seed, len(d)+1), effect))
				}
				t := stat.PairedT(d, level)
				if answer := stat.Judge(t.Low, t.High, margin); answer != stat.Undecided {
					return ended{
						blocks: look, differs: answer != stat.Equivalent, soon: answer == stat.Above && look <= within,
						worse: answer == stat.Below || answer == stat.DifferentDown,
					}
				}
			}
			return ended{blocks: len(d)}
		})
	}
	return summed(run(0), run(effectPlanted))
}

// formerBlock is the log-ratio of one block.
func formerBlock(draw func(position) float64, trial *int, order []int, effect float64) float64 {
	var x [2]float64
	for slot, arm := range order {
		*trial++
		x[arm] = math.Log(value(draw(position{*trial, slot + 1, arm == 1}), effect, arm == 1))
	}
	return x[1] - x[0]
}
