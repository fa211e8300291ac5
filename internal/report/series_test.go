package report_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/figure"
	"plimsoll/internal/report/forest"
	"plimsoll/internal/report/page"
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
		s := report.New(report.Input{
			Study:    &study.Study{Headline: []string{c.headline}, Groups: []study.Group{{Name: "client"}, {Name: "noisy"}}},
			Findings: &finding.Findings{Arms: []plan.Arm{{Label: "baseline"}}},
			Metrics:  metrics, Rate: "transactions",
			Records: []measure.Record{{Trial: 1, Block: 1}},
			Series:  func(int) ([]measure.Interval, error) { return intervals, nil },
		})
		table, ok := figure.SeriesTable(s)
		if !ok || table.Columns[5].Name != c.shown || table.Rows[0][5].Value != c.value || table.Title != c.shown+" over the course of each run" {
			t.Errorf("headline %s: %t, %q with %v, want %s and %g", c.headline, ok, table.Title, table.Rows, c.shown, c.value)
		}
	}
}

// colliding are texts of a figure that run into each other on a line.
func colliding(svg chart.SVG) (all []string) {
	type span struct {
		y, from, to float64
		text        string
	}
	var spans []span
	for _, m := range regexp.MustCompile(`<text x="([0-9.-]+)" y="([0-9.-]+)" class="([^"]*)">([^<]*)<`).FindAllStringSubmatch(string(svg), -1) {
		x, _ := strconv.ParseFloat(m[1], 64)
		y, _ := strconv.ParseFloat(m[2], 64)
		w := chart.Wide(m[4], 12) * .85 // of letters and digits, on average
		s := span{y, x, x + w, m[4]}
		switch classes := strings.Fields(m[3]); {
		case slices.Contains(classes, "e"):
			s.from, s.to = x-w, x
		case slices.Contains(classes, "c"):
			s.from, s.to = x-w/2, x+w/2
		}
		for _, o := range spans {
			if o.y == s.y && o.from < s.to && s.from < o.to {
				all = append(all, o.text+" | "+s.text)
			}
		}
		spans = append(spans, s)
	}
	return all
}

// The time at the right end of a panel leaves room for that at the left end of the next.
func TestPanelsOfACourseStandApart(t *testing.T) {
	for runs := 1; runs <= 7; runs++ {
		table := chart.Table{Columns: []chart.Column{{Name: "trial"}, {Name: "block"}, {Name: "arm number"}, {Name: "arm"}, {Name: "time", Unit: "s"}, {Name: "calls", Unit: "1/s"}, {Name: "cut", Unit: "s"}, {Name: "end", Unit: "s"}, {Name: "void"}}}
		for run := range runs {
			for _, at := range []float64{10, 60} {
				table.Rows = append(table.Rows, []chart.Cell{chart.Whole(run), chart.Whole(run), chart.Whole(0), chart.Text("a"), chart.Num(at), chart.Num(20), chart.Num(5), chart.Num(60), chart.Text("")})
			}
		}
		if overlaps := colliding(figure.DrawSeries(table, page.WideFigure)); overlaps != nil {
			t.Errorf("%d runs: %v", runs, overlaps)
		}
	}
}

// The last time of a panel stays in its drawing, also on a phone.
func TestTimesOfACourseStayInside(t *testing.T) {
	table := chart.Table{Columns: []chart.Column{{Name: "trial"}, {Name: "block"}, {Name: "arm number"}, {Name: "arm"}, {Name: "time", Unit: "s"}, {Name: "calls", Unit: "1/s"}, {Name: "cut", Unit: "s"}, {Name: "end", Unit: "s"}, {Name: "void"}}}
	for run := range 3 {
		for _, at := range []float64{100, 400} {
			table.Rows = append(table.Rows, []chart.Cell{chart.Whole(run), chart.Whole(run), chart.Whole(0), chart.Text("a"), chart.Num(at), chart.Num(20), chart.Num(5), chart.Num(400), chart.Text("")})
		}
	}
	for _, width := range []float64{page.WideFigure, page.NarrowFigure} {
		labels := regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>400 s<`).FindAllStringSubmatch(string(figure.DrawSeries(table, width)), -1)
		if len(labels) != 3 {
			t.Fatalf("%d ends are labelled 400 s, of 3 panels", len(labels))
		}
		x, _ := strconv.ParseFloat(labels[2][1], 64)
		if right := x + chart.Wide("400 s", 12)/2; right > width {
			t.Errorf("the last label ends at %g of %g", right, width)
		}
	}
}

// What is clipped in a forest plot is the name of the arm, and not which way is better.
func TestForestSaysWhichWayIsBetter(t *testing.T) {
	for _, arm := range []string{"topology=auto", "instances=2", "a factor with a very long name=and its level"} {
		table := chart.Table{Columns: []chart.Column{{Name: "metric"}, {Name: "arm"}, {Name: "better"}, {Name: "change", Unit: "ratio", Around: [2]string{"low", "high"}}, {Name: "low", Unit: "ratio"}, {Name: "high", Unit: "ratio"}, {Name: "margin", Unit: "share"}, {Name: "blocks"}, {Name: "verdict"}},
			Rows: [][]chart.Cell{{chart.Text("calls"), chart.Text(arm), chart.Text("higher"), chart.Num(1.2), chart.Num(1.1), chart.Num(1.3), chart.Num(.05), chart.Num(6), chart.Text("better")}}}
		if svg := string(forest.DrawForest(table, page.WideFigure)); !strings.Contains(svg, "more is better<") {
			t.Errorf("arm %s: %s", arm, svg)
		}
	}
}
