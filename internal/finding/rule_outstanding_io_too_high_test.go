package finding_test

import (
	"fmt"
	"math"
	"testing"

	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// twoDepths is a study of two numbers of threads, with the ratio of their rates.
func twoDepths(levels []int, ratio float64) *rule.Case {
	c := table.Case{Plan: &plan.Plan{}, Study: &study.Study{}, Rate: "iops", Metrics: measure.OperationMetrics("iops"), Demands: map[int]load.Demand{}}
	for arm, n := range levels {
		c.Plan.Arms = append(c.Plan.Arms, plan.Arm{Index: arm, Label: fmt.Sprint(n)})
		c.Demands[arm] = load.Demand{Concurrency: n}
		rate := 1000 * math.Pow(ratio, float64(arm))
		c.Records = append(c.Records, measure.Record{Trial: arm + 1, Block: 1, Arm: arm, Values: map[string]float64{"iops": rate, "mean": float64(n) / rate}})
	}
	return &rule.Case{Table: table.New(c)}
}

// The line through two depths bounds what fewer can give.
func TestWhatFewerLeave(t *testing.T) {
	for _, one := range []struct {
		levels      []int
		ratio       float64
		share, want float64
	}{
		{[]int{32, 16}, 1, .5, 1},
		{[]int{32, 16}, .5, .5, .5},      // above: linear so far
		{[]int{32, 16}, 1 / 1.2, .5, .9}, // above: 20 % more for twice as many
		{[]int{4, 16}, 1.6, .25, .625},   // below: as measured
		{[]int{4, 16}, 1.6, .5, 1},       // between the two nothing is sure
		{[]int{8, 16}, .9, .5, 1},        // never more than there is
	} {
		c := twoDepths(one.levels, one.ratio)
		if got := rule.MostLeft(c, 1, one.share); math.Abs(got-one.want) > 1e-9 {
			t.Errorf("%v, %v times the rate: %v of the outstanding leave %v, want %v", one.levels, one.ratio, one.share, got, one.want)
		}
	}
}
