package figure

import (
	"fmt"
	"math"

	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
	"plimsoll/internal/stat"
)

// Power and error rate of the detectable effects in the table of noise.
const (
	noisePower = 0.80
	noiseAlpha = 0.05
)

func noiseTable(s *report.Sources) (chart.Table, bool) {
	blocks := []int{6, 12, 24}
	t := chart.Table{Name: "noise", Title: "Noise between runs", Columns: []chart.Column{{Name: "metric"}, {Name: "arm"}, {Name: "trials"}, {Name: "run CV", Unit: "share"}}}
	for _, n := range blocks {
		t.Columns = append(t.Columns, chart.Column{Name: fmt.Sprintf("detectable with %d blocks", n), Unit: "share"})
	}
	for _, name := range s.Headlines() {
		for arm := range min(s.Arms(), content.MostRows) {
			cv, n := variation(s, name, arm)
			if n < 2 {
				continue
			}
			row := []chart.Cell{chart.Text(name), chart.Text(s.Brief(arm)), chart.Whole(n), chart.Num(rounded(cv))}
			for _, b := range blocks {
				row = append(row, chart.Num(rounded(stat.DetectableEffect(cv, b, noisePower, noiseAlpha))))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	t.Summary = "The coefficient of variation between the trials of each arm."
	return t, len(t.Rows) > 0
}

// rounded keeps two digits: a coefficient of variation from few runs has no more.
func rounded(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return v
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(v/unit) * unit
}

// variation is the coefficient of variation of a metric over the valid trials of
// an arm.
func variation(s *report.Sources, metric string, arm int) (cv float64, n int) {
	var sum, squares float64
	for _, i := range s.Of[arm] {
		if x, ok := report.Value(&s.InOrder[i], metric); ok {
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
