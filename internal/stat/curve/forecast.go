package curve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"plimsoll/internal/stat"
)

const (
	forecastLevels = 6 // fewest sizes for three coefficients
	forecastRuns   = 3 // fewest runs of each
	forecastReach  = 2 // largest extrapolation, as a multiple of the largest size
	forecastDraws  = 400
)

// Scale is the throughput of each run of a system with n units or users.
type Scale struct {
	N    float64
	Runs []float64
}

// Forecast is the scalability law fitted to measured sizes, with bootstrap intervals at the
// requested confidence level.
type Forecast struct {
	Fit                  USL
	Lambda, Sigma, Kappa stat.Interval
	PeakN, PeakX         stat.Interval // only where Peak is empty
	Largest              float64       // largest measured n; the forecast ends at twice that
	LackOfFit            float64       // p value of the lack-of-fit test against the spread of runs of one size
	Refusal              string        // why there is no forecast; empty when there is one
	Peak                 string        // why no peak is identified; empty when Fit.PeakN() and Fit.PeakX() may be printed
	draws                []USL         // bootstrap fits
	level                float64
}

// ForecastUSL fits the law by relative residuals, and bootstraps its residuals: at each size,
// runs are resampled around the mean of the size, from the relative deviations of all runs
// from their means. It refuses fewer than six sizes of three runs each. No peak is identified
// if the interval of Kappa includes 0, or if the peak is beyond twice the largest size. The
// caller judges LackOfFit: the intervals hold only if the law fits.
//
// Source: Efron & Tibshirani, An Introduction to the Bootstrap, sections 9.4 and 13.3
// (percentile interval); deviations are scaled by sqrt(r/(r-1)) for sizes of r runs, Davison &
// Hinkley, section 6.3.
func ForecastUSL(scales []Scale, level float64, seed uint64) Forecast {
	f := Forecast{level: level}
	n, x, refusal := forecastPoints(scales)
	if refusal != "" {
		f.Refusal, f.Peak = refusal, refusal
		return f
	}
	f.Largest = slices.Max(n)
	var ok bool
	if f.Fit, ok = FitUSL(n, x, RelativeResiduals); !ok {
		f.Refusal = "these throughputs do not fit the scalability law"
		f.Peak = f.Refusal
		return f
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Log(v)
	}
	f.LackOfFit = stat.LackOfFit(n, y, 3, func(v float64) float64 { return math.Log(f.Fit.At(v)) })
	f.resample(scales, seed)
	of := func(value func(USL) float64) stat.Interval { return f.between(value) }
	f.Lambda = of(func(u USL) float64 { return u.Lambda })
	f.Sigma = of(func(u USL) float64 { return u.Sigma })
	f.Kappa = of(func(u USL) float64 { return u.Kappa })
	f.PeakN = of(USL.PeakN)
	f.PeakX = of(USL.PeakX)
	reach := forecastReach * f.Largest
	switch {
	case f.Kappa.Low <= 0:
		f.Peak = "no peak identified: the data allow a throughput that never falls"
	case f.Fit.PeakN() > reach:
		f.Peak = fmt.Sprintf("no peak identified: the estimate is beyond %.4g, twice the largest size measured", reach)
	}
	return f
}

// count is a number of things, such as "1 run" and "2 runs".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// forecastPoints lists n and throughput of each run, or the reason for a refusal.
func forecastPoints(scales []Scale) (n, x []float64, refusal string) {
	different := map[float64]bool{}
	for _, s := range scales {
		if len(s.Runs) < forecastRuns {
			return nil, nil, fmt.Sprintf("only %s at n = %.4g, a forecast needs %d at each size", count(len(s.Runs), "run"), s.N, forecastRuns)
		}
		different[s.N] = true
		for _, v := range s.Runs {
			if !(v > 0) || math.IsInf(v, 1) || !(s.N >= 1) || math.IsInf(s.N, 1) {
				return nil, nil, "a forecast needs sizes of at least 1 and throughputs above 0"
			}
			n, x = append(n, s.N), append(x, v)
		}
	}
	if len(different) < forecastLevels {
		return nil, nil, fmt.Sprintf("only %s measured, a forecast needs %d", count(len(different), "size"), forecastLevels)
	}
	return n, x, ""
}

// resample fits the law to bootstrap samples.
func (f *Forecast) resample(scales []Scale, seed uint64) {
	var deviations []float64
	means := make([]float64, len(scales))
	var n []float64
	for i, s := range scales {
		mean, _ := stat.Moments(s.Runs)
		means[i] = mean
		r := float64(len(s.Runs))
		for _, v := range s.Runs {
			deviations = append(deviations, (v/mean-1)*math.Sqrt(r/(r-1)))
			n = append(n, s.N)
		}
	}
	source := rand.NewPCG(stat.Scatter(seed), 0x75736c)
	x := make([]float64, 0, len(n))
	for range forecastDraws {
		x = x[:0]
		for i, s := range scales {
			for range s.Runs {
				d := deviations[stat.Uniform(source, uint64(len(deviations)))]
				x = append(x, means[i]*math.Max(1e-3, 1+d))
			}
		}
		if u, ok := FitUSL(n, x, RelativeResiduals); ok {
			f.draws = append(f.draws, u)
		}
	}
}

// between returns the percentile interval of a value over the bootstrap fits.
func (f *Forecast) between(value func(USL) float64) stat.Interval {
	if len(f.draws) == 0 {
		return stat.Interval{Low: math.Inf(-1), High: math.Inf(1)}
	}
	v := make([]float64, len(f.draws))
	for i, u := range f.draws {
		v[i] = value(u)
	}
	slices.Sort(v)
	// No interpolation between order statistics: one may be infinite.
	side := int(math.Floor((1 - f.level) / 2 * float64(len(v))))
	side = min(max(side, 0), (len(v)-1)/2)
	return stat.Interval{Low: v[side], High: v[len(v)-1-side]}
}

// At forecasts the throughput of n units with its interval. It is an error where
// there is no forecast, and beyond twice the largest size measured.
func (f *Forecast) At(n float64) (x float64, i stat.Interval, err error) {
	switch {
	case f.Refusal != "":
		return 0, stat.Interval{}, fmt.Errorf("forecast for n = %.4g: %s", n, f.Refusal)
	case !(n >= 1) || n > forecastReach*f.Largest:
		return 0, stat.Interval{}, fmt.Errorf("forecast for n = %.4g: the forecast is limited to 1 to %.4g, twice the largest size measured", n, forecastReach*f.Largest)
	}
	return f.Fit.At(n), f.between(func(u USL) float64 { return u.At(n) }), nil
}
