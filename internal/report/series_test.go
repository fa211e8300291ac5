package report

import (
	"testing"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// What is drawn over time is what the title says: the class of a headline, all operations, or
// their rate where intervals do not tell what the headline counts.
func TestCourseIsOfItsMetric(t *testing.T) {
	rate := func(name, unit string) measure.Metric {
		return measure.Metric{Name: name, Unit: unit, Better: measure.HigherIsBetter}
	}
	metrics := []measure.Metric{rate("transactions", "1/s"), rate("payment.transactions", "1/s"), rate("throughput", "B/s"), rate("least", "1/s"), rate("noisy.transactions", "1/s")}
	intervals := []measure.Interval{{To: 100 * time.Millisecond, Samples: []measure.Sample{
		{Class: "new_order", Operations: 45, Bytes: 10}, {Class: "payment", Operations: 40, Bytes: 20},
	}}}
	for _, c := range []struct {
		headline, shown string
		value           float64
	}{
		{"transactions", "transactions", 850},
		{"payment.transactions", "payment.transactions", 400},
		{"throughput", "throughput", 300},
		{"least", "transactions", 850},
		{"noisy.transactions", "transactions", 850},
	} {
		s := arrange(Input{
			Study:    &study.Study{Headline: []string{c.headline}, Groups: []study.Group{{Name: "client"}, {Name: "noisy"}}},
			Findings: &finding.Findings{Arms: []plan.Arm{{Label: "baseline"}}},
			Metrics:  metrics, Rate: "transactions",
			Records: []measure.Record{{Trial: 1, Block: 1}},
			Series:  func(int) ([]measure.Interval, error) { return intervals, nil },
		})
		table, ok := seriesTable(s)
		if !ok || table.Columns[5].Name != c.shown || table.Rows[0][5].Value != c.value || table.Title != c.shown+" over the course of each run" {
			t.Errorf("headline %s: %t, %q with %v, want %s and %g", c.headline, ok, table.Title, table.Rows, c.shown, c.value)
		}
	}
}
