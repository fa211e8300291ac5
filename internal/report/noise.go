package report

import (
	"fmt"
	"math"

	"plimsoll/internal/stat"
)

// Of the table of noise: the power and the error rate of its effects.
const (
	noisePower = 0.80
	noiseAlpha = 0.05
)

// noise says how much trials of the same arm differ, and what effects such noise
// lets one see.
func noise() Figure {
	return Figure{
		Name:  "noise",
		Doc:   "How much the trials of one arm differ from run to run (coefficient of variation), and the smallest effect that so many blocks would show with 80 % power.",
		Place: inNoise,
		Table: noiseTable,
	}
}

func noiseTable(s *sources) (Table, bool) {
	blocks := []int{6, 12, 24}
	t := Table{Name: "noise", Title: "Noise between runs", Columns: []Column{{Name: "metric"}, {Name: "arm"}, {Name: "trials"}, {Name: "run CV", Unit: "share"}}}
	for _, n := range blocks {
		t.Columns = append(t.Columns, Column{Name: fmt.Sprintf("seen with %d blocks", n), Unit: "share"})
	}
	for _, name := range s.headlines() {
		for arm := range min(s.arms(), mostRows) {
			cv, n := s.variation(name, arm)
			if n < 2 {
				continue
			}
			row := []Cell{text(name), text(s.brief(arm)), whole(n), num(rounded(cv))}
			for _, b := range blocks {
				row = append(row, num(rounded(stat.DetectableEffect(cv, b, noisePower, noiseAlpha))))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	t.Summary = "The coefficient of variation between the trials of each arm."
	return t, len(t.Rows) > 0
}

// rounded keeps two digits: a spread from few runs bears no more.
func rounded(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return v
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(v/unit) * unit
}

// variation is the coefficient of variation of a metric over the valid trials of
// an arm.
func (s *sources) variation(metric string, arm int) (cv float64, n int) {
	var sum, squares float64
	for _, i := range s.of[arm] {
		if x, ok := value(&s.records[i], metric); ok {
			n++
			d := x - sum
			sum += d / float64(n) // running mean, by Welford
			squares += d * (x - sum)
		}
	}
	if n < 2 || sum == 0 {
		return 0, 0
	}
	return math.Sqrt(squares/float64(n-1)) / math.Abs(sum), n
}
