package report_test

import (
	"math"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
)

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		v, half float64
		unit    string
		want    string
	}{
		{20612.4, 480, "1/s", "20,600/s"},
		{20612.4, 35, "1/s", "20,612/s"},
		{20612.4, 120, "1/s", "20,610/s"},
		{20612.4, 0, "1/s", "20,610/s"},
		{171e-6, 2.2e-6, "s", "171.0 µs"},
		{171e-6, 4e-6, "s", "171 µs"},
		{0.0012346, 0, "s", "1.235 ms"},
		{0.99999, 0, "s", "1 s"},
		{1 << 30, 0, "B", "1 GiB"},
		{4096 * 20000, 0, "B/s", "78.12 MiB/s"},
		{0.9312, 0, "share", "93.12 %"},
		{-0.0123, 0, "share", "−1.23 %"},
		{0, 0, "s", "0 s"},
		{0, 0, "B", "0 B"},
		{0, 0, "B/s", "0 B/s"},
		{0, 0, "share", "0 %"},
		{0, 1, "1/s", "0/s"},
		{75470, 104000, "1/s", "75,000/s"},
		{370e-6, 0.128, "s", "400 µs"},
		{2, 0, "1", "2"},
		{3, 0, "J", "3 J"},
		{1e-9, 1e-12, "s", "1.0000 ns"}, // five digits, however narrow
		{math.NaN(), 0, "s", "– s"},
		{math.Inf(-1), 0, "1", "−∞"},
	} {
		if got := report.Amount(c.v, c.half, c.unit); got != c.want {
			t.Errorf("quantity(%v, %v, %q) = %q, want %q", c.v, c.half, c.unit, got, c.want)
		}
	}
}

// The rule of the Particle Data Group, by its own examples: 0.827 +- 0.119 is
// 0.83 +- 0.12, 0.827 +- 0.367 is 0.8 +- 0.4.
func TestNumberKeepsToItsInterval(t *testing.T) {
	for _, c := range []struct {
		v, half float64
		want    string
	}{{0.827, 0.119, "0.83"}, {0.827, 0.367, "0.8"}, {0.827, 0.354, "0.83"}, {14.674, 0.964, "14.7"}} {
		if got := report.Number(c.v, c.half); got != c.want {
			t.Errorf("number(%v, %v) = %q, want %q", c.v, c.half, got, c.want)
		}
	}
}

func TestChange(t *testing.T) {
	for ratio, want := range map[float64]string{1.2713: "+27.1 %", 0.969: "−3.1 %", 1.0042: "+0.42 %", 1: "+0.00 %", math.Inf(1): "+∞"} {
		if got := report.Change(ratio); got != want {
			t.Errorf("change(%v) = %q, want %q", ratio, got, want)
		}
	}
}

func TestChangeKeepsToItsInterval(t *testing.T) {
	for _, c := range []struct {
		ratio, low, high float64
		want             string
	}{
		{1.2713, 1.265, 1.278, "+27.1 %"},
		{1.494, 0.608, 3.668, "+49 %"},
		{3.668, 0.608, 3.668, "+267 %"},
		{14.6, 9, 30, "+1,360 %"},
		{1.0042, 1.002, 1.0064, "+0.42 %"},
		{1.0042, 0.97, 1.04, "+0.4 %"},
		{1.0042, 0.94, 1.07, "0 %"},
		{0.969, 0.96, 0.978, "−3.1 %"},
		{26e12, 0.1, 26e12, "over ×1,000"},
		{0.969, 0.969, 0.969, "−3.1 %"}, // no interval
	} {
		if got := report.Within(c.ratio, c.low, c.high); got != c.want {
			t.Errorf("%v in %v to %v is written %q, not %q", c.ratio, c.low, c.high, got, c.want)
		}
	}
}

func TestTicksAreRoundAndInside(t *testing.T) {
	for _, a := range []chart.Axis{{Low: 0, High: 66000}, {Low: 160e-6, High: 240e-6}, {Low: -0.3, High: 0.2}, {Low: 5e-5, High: 0.02, Log: true}, {Low: 90e-6, High: 130e-6, Log: true}} {
		values := a.Ticks(4)
		if len(values) < 2 || len(values) > 12 {
			t.Errorf("%+v has %d ticks: %v", a, len(values), values)
		}
		seen := map[string]bool{}
		for i, label := range chart.TickLabels(values, "s", a.Log) {
			if values[i] < a.Low-1e-12 || values[i] > a.High+1e-12 {
				t.Errorf("%+v: tick %v is outside", a, values[i])
			}
			if seen[label] {
				t.Errorf("%+v: two ticks read %q", a, label)
			}
			seen[label] = true
		}
	}
}

func TestSpread(t *testing.T) {
	indices := make([]int, 1000)
	for i := range indices {
		indices[i] = i
	}
	for _, n := range []int{0, 1, 2, 7, 999, 1000, 2000} {
		got := report.Spread(indices, n)
		if len(got) != min(n, 1000) {
			t.Errorf("spread to %d gave %d", n, len(got))
		}
		for i := 1; i < len(got); i++ {
			if got[i] <= got[i-1] {
				t.Fatalf("spread to %d repeats at %d: %v", n, i, got[i-1:i+1])
			}
		}
		if n >= 2 && (got[0] != 0 || got[len(got)-1] != 999) {
			t.Errorf("spread to %d leaves out an end", n)
		}
	}
}

func TestIntervalOfOneValueIsNone(t *testing.T) {
	for _, c := range []struct {
		low, high      float64
		value, between string
	}{{10e-3, 10e-3, "10 ms", "no interval"}, {9.5e-3, 10.5e-3, "10.0 ms", "9.5 to 10.5 ms"}} {
		if value, between := report.Interval(10e-3, c.low, c.high, "s"); value != c.value || between != c.between {
			t.Errorf("%q, %q", value, between)
		}
	}
}

func TestOnePeakHasTheIntervalOfItsSearch(t *testing.T) {
	sum := &finding.Summary{Metric: measure.Metric{Name: "peak", Unit: "1/s"}, Trials: 1, Mean: 1000, Low: 1000, High: 1000}
	s := &report.Sources{Input: report.Input{Findings: &finding.Findings{}}}
	if _, between := s.About(sum); between != "no interval" {
		t.Errorf("without a search %q", between)
	}
	s.Findings.Peaks = []finding.Peak{{Peak: measure.Peak{Estimate: 1000, Low: 950, High: 1050}}}
	if _, between := s.About(sum); between != "950 to 1,050/s" {
		t.Errorf("%q", between)
	}
}
