package capacity

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/stat"
	"plimsoll/internal/stat/curve"
)

const (
	leastSizes = 3  // fewest sizes for a statement about growth
	mostCurve  = 40 // points of the stored curve
	// forecastReach is the extrapolation limit of stat, as a multiple of the largest size.
	forecastReach = 2
)

// ScaleOut is the growth of the first rate among the headlines with the number of units; nil
// if the study varies another factor.
func ScaleOut(t *table.Table, f *finding.Findings) *finding.ScaleOut {
	factor, ok := scaling(t)
	if !ok {
		return nil
	}
	for _, name := range t.Study.Headline {
		m := t.Metric(name)
		if name == measure.PeakMetric().Name {
			m = measure.PeakMetric()
		}
		if m.Better != measure.HigherIsBetter || m.Unit != "1/s" && m.Unit != "B/s" {
			continue
		}
		// With one offered rate, the rate says nothing about capacity.
		if m.Name != measure.PeakMetric().Name && offersOneRate(t) {
			return nil
		}
		return Scale(f, factor, m)
	}
	return nil
}

// scaling is the full name of the only factor that the study varies, if its levels are
// numbers of units.
func scaling(t *table.Table) (factor string, ok bool) {
	varied := 0
	for _, f := range t.Study.Factors {
		if len(f.Levels) < 2 {
			continue
		}
		varied++
		factor = f.FullName()
		ok = finding.CountsUnits(factor) && len(f.Levels) >= leastSizes
		for _, level := range f.Levels {
			_, whole := unitsOf(level)
			ok = ok && whole
		}
	}
	return factor, ok && varied == 1
}

// unitsOf parses a level as a number of units.
func unitsOf(level string) (n int, ok bool) {
	n, err := strconv.Atoi(level)
	return n, err == nil && n > 0
}

// offersOneRate reports whether all arms are offered the same rate.
func offersOneRate(t *table.Table) bool {
	for arm := range t.Arms {
		if !t.OpenLoop(arm) || t.Demands[arm].Rate != t.Demands[0].Rate {
			return false
		}
	}
	return true
}

// Scale is computed from the values of trials in the findings, so that the audit can recompute
// it. It is nil for fewer than three sizes with positive values.
func Scale(f *finding.Findings, factor string, m measure.Metric) *finding.ScaleOut {
	o := &finding.ScaleOut{Factor: factor, Metric: m}
	l := finding.NewLedger(f)
	for _, arm := range f.Arms {
		s := l.Summary(m.Name, arm.Index)
		n, ok := unitsOf(arm.Levels[factor])
		if !ok || s == nil || len(s.Values) == 0 {
			continue
		}
		if !compare.Positive(s.Values) {
			return nil
		}
		o.Sizes = append(o.Sizes, finding.Size{Units: n, Arm: arm.Index, Trials: s.Trials, Mean: s.Mean, Low: s.Low, High: s.High})
	}
	slices.SortFunc(o.Sizes, func(a, b finding.Size) int { return cmp.Compare(a.Units, b.Units) })
	o.Sizes = slices.CompactFunc(o.Sizes, func(a, b finding.Size) bool { return a.Units == b.Units })
	if len(o.Sizes) < leastSizes {
		return nil
	}
	runs := func(s *finding.Size) *finding.Summary { return l.Summary(m.Name, s.Arm) }
	scales := make([]curve.Scale, len(o.Sizes))
	for i := range o.Sizes {
		s := &o.Sizes[i]
		grade(s, &o.Sizes[0], [2]*finding.Summary{runs(&o.Sizes[0]), runs(s)}, f)
		scales[i] = curve.Scale{N: float64(s.Units), Runs: runs(s).Values}
	}
	fit(o, scales, f)
	return o
}

// grade sets the efficiency relative to the smallest size: paired by blocks if the order was
// random.
func grade(s, first *finding.Size, runs [2]*finding.Summary, f *finding.Findings) {
	s.Efficiency, s.EfficiencyLow, s.EfficiencyHigh = 1, 1, 1
	if s == first {
		return
	}
	times := float64(s.Units) / float64(first.Units)
	share, i := curve.Efficiency(runs[0].Values, runs[1].Values, times, f.Level)
	if randomised(f, runs[0].Metric.Name) {
		blocks, _ := compare.PairedBlocks(runs[0], runs[1])
		d := stat.Differences(blocks)
		ratios, ones := make([]float64, len(d)), make([]float64, len(d))
		for at, v := range d {
			ratios[at], ones[at] = math.Exp(v), 1
		}
		if len(d) > 0 {
			share, i = curve.EfficiencyPaired(ones, ratios, times, f.Level)
		}
	}
	s.Efficiency, s.EfficiencyLow, s.EfficiencyHigh = share, i.Low, i.High
	if !(i.Low > 0) || math.IsInf(i.High, 1) {
		s.EfficiencyLow, s.EfficiencyHigh = share, share
	}
}

func randomised(f *finding.Findings, metric string) bool {
	return !slices.ContainsFunc(f.Headlines, func(c finding.Comparison) bool { return c.Metric.Name == metric && c.NotRandomised })
}

// fit sets the forecast, or the reason for a refusal.
func fit(o *finding.ScaleOut, scales []curve.Scale, f *finding.Findings) {
	c := curve.ForecastUSL(scales, f.Level, f.Seed)
	o.Refusal = c.Refusal
	l := &finding.Law{
		Lambda: estimate(c.Fit.Lambda, c.Lambda), Sigma: estimate(c.Fit.Sigma, c.Sigma), Kappa: estimate(c.Fit.Kappa, c.Kappa),
		Curve: forecasts(&c, o.Sizes),
	}
	if o.Refusal == "" && (len(l.Curve) == 0 || !finite(l.Lambda, l.Sigma, l.Kappa)) {
		o.Refusal = "the runs do not determine the scalability law"
	}
	if o.Refusal != "" {
		return
	}
	for _, s := range o.Sizes {
		l.Miss = math.Max(l.Miss, math.Abs(s.Mean/c.Fit.At(float64(s.Units))-1))
	}
	// A law that does not fit has narrow intervals, too. With many runs no law fits exactly,
	// so deviations within the margin are accepted.
	if l.Miss > f.Margin && c.LackOfFit < 1-f.Level {
		o.Refusal = "the scalability law misses a measured mean by " + quantity.Share(quantity.Round(l.Miss, 2)) + ", more than run-to-run noise explains"
		return
	}
	name(l, &c)
	o.Law = l
}

// name sets the peak, or why there is none.
func name(l *finding.Law, c *curve.Forecast) {
	if c.Peak != "" {
		l.NoPeak = strings.TrimPrefix(c.Peak, "no peak identified: ")
		return
	}
	at, rate := estimate(c.Fit.PeakN(), c.PeakN), estimate(c.Fit.PeakX(), c.PeakX)
	if at.High > float64(l.Reach().Units) {
		at.High, at.Open = 0, true
		rate.High, rate.Open = 0, true
	}
	l.Peak, l.PeakRate = &at, &rate
}

func estimate(v float64, i stat.Interval) finding.Estimate {
	return finding.Estimate{Value: v, Low: i.Low, High: i.High}
}

func finite(all ...finding.Estimate) bool {
	for _, e := range all {
		if sum := e.Value + e.Low + e.High; math.IsNaN(sum) || math.IsInf(sum, 0) {
			return false
		}
	}
	return true
}

// forecasts are the law at integer numbers of units, up to the forecast limit.
func forecasts(c *curve.Forecast, sizes []finding.Size) []finding.Forecast {
	first, last := sizes[0].Units, forecastReach*sizes[len(sizes)-1].Units
	points := min(last-first, mostCurve)
	var all []finding.Forecast
	for i := range points + 1 {
		n := first + int(math.Round(float64(last-first)*float64(i)/float64(points)))
		x, around, err := c.At(float64(n))
		e := estimate(x, around)
		if err != nil || !finite(e) {
			break
		}
		all = append(all, finding.Forecast{Units: n, Rate: e})
	}
	return all
}
