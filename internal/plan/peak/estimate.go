package peak

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/stat"
	"plimsoll/internal/stat/curve"
)

const (
	refusedBelow = 0.005 // p value of the curvature below which the curve with a floor replaces the line: liberal, as for model selection (Bancroft 1964)
	bentBelow    = 0.25  // fewest points for a curve: with one block, curvature is noise
	bentPoints   = 10    // fewest points that may bend: with one block, a bend is noise
	leastJump    = 3.0   // ratio of response times that makes a jump
	movedLevel   = 0.995 // confidence level of a drift
	movedMost    = 0.02  // drift of the peak over the ladder, a share, that is tolerated
)

// Point is one probe of a ladder.
type Point struct {
	Rate    float64 // offered, 1/s
	Seconds float64 // its response time; NaN without a steady one
}

// Fit is the rate at which a response time meets its limit.
type Fit struct {
	Word      Word    // Identified or NotIdentified
	Rate      float64 // 1/s; NaN if the line does not meet the limit
	Low, High float64 // its interval; infinite where it is not bounded
	Crosses   bool    // the line falls and meets the limit within the rates tried: Rate is valid, even if its interval is unbounded
	Why       string  // why it is not identified
	Outliers  []Point // left out: far slower than the others at their rate, which were within the limit
	beyond    int     // -1 or 1 if the limit is met below or above the rates tried
}

// Estimate returns the rate at which the response time reaches the limit, in
// seconds, with its interval at the confidence level.
//
// A line is fitted to 1/response time against rate, which for a queue with random
// arrivals and service is exactly right: the quantile q of the response time is
// ln(1/(1-q))/(mu - rate). With several servers in parallel the service itself sets
// a floor, the points are bent, and curve.FitKnee takes the place of the line where
// that shows. Nothing is identified when the slope may be 0, when the curve does not
// fit (lack of fit against the replicates of each level), when two constants
// describe the points far better (a cliff and not a knee), or when the limit is met
// outside the rates that were tried. A level with a probe that had no steady
// response time is left out as a whole: keeping its lucky probes would favour the
// fast ones. Outliers are left out: probes four times slower than the others at
// their rate, which were all within the limit.
//
// Source: Kleinrock, Queueing Systems I, section 5.12, for M/M/1; Fieller (1954) for the
// interval.
func Estimate(points []Point, limit, level float64) Fit {
	fit := Fit{Word: NotIdentified, Rate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	points, fit.Outliers = withoutOutliers(points, limit)
	x, q, reach := usable(points)
	if len(x) < 3 || slices.Min(x) == slices.Max(x) {
		fit.Why = "too few levels had a steady response time"
		return fit
	}
	raw, y, free := reciprocals(x, q)
	for i, v := range y {
		q[i] = 1 / v
	}
	line := curve.InversePrediction(x, y, 1/limit, level)
	if !(line.Line.Slope < 0) {
		fit.Why = "the response time does not rise with the load"
		return fit
	}
	if jumps(y, line.Line.Residual) {
		fit.Why = "the response time jumps instead of rising: a cliff"
		return fit
	}
	bounded, lack := line.Bounded(), line.LackOfFit
	fit.Rate, fit.Low, fit.High = line.X, line.Interval.Low, line.Interval.High
	if len(x) >= bentPoints {
		if knee := curve.FitKnee(x, q, limit, level); knee.Curvature < bentBelow && (knee.Bounded() || !bounded || lack < bentBelow) {
			bounded, lack = knee.Bounded(), knee.LackOfFit
			fit.Rate, fit.Low, fit.High = knee.X, knee.Interval.Low, knee.Interval.High
		}
	}
	if free > 0 {
		fit.widen(curve.InversePrediction(x, raw, 1/limit, level).X-line.X, free, level)
	}
	switch {
	case !(fit.Rate >= reach.Low && fit.Rate <= reach.High):
		if fit.beyond = 1; fit.Rate < reach.Low {
			fit.beyond = -1
		}
		fit.Why = fmt.Sprintf("the response time would meet its limit at %.6g/s, outside the rates tried", fit.Rate)
		return fit
	case lack < refusedBelow:
		fit.Why = fmt.Sprintf("no smooth curve fits 1/response time (lack of fit, p = %.2g)", lack)
		return fit
	}
	fit.Crosses = true
	if !bounded {
		fit.Why = "the noise hides how the response time rises with the load"
		return fit
	}
	fit.Word = Identified
	return fit
}

// widen adds the uncertainty of the bias correction, shift, to the interval, with its degrees
// of freedom.
//
// Source: interval of a sum from those of its parts (MOVER), Zou & Donner (2008).
func (f *Fit) widen(shift, free, level float64) {
	most, least := free/stat.ChiSquareQuantile(0.5-level/2, free), free/stat.ChiSquareQuantile(0.5+level/2, free)
	f.Low = f.Rate - math.Hypot(f.Rate-f.Low, shift*(most-1))
	f.High = f.Rate + math.Hypot(f.High-f.Rate, shift*(1-least))
}

// reciprocals are 1/q, corrected for the bias of a reciprocal: for noisy q, the mean of 1/q
// exceeds 1/(mean of q) by the square of its coefficient of variation. The variance is pooled
// over the replicates of each rate; without replicates there is no correction. free is its
// degrees of freedom.
//
// Source: the delta method to second order, Cochran, Sampling Techniques (1977), section 6.8.
func reciprocals(x, q []float64) (raw, y []float64, free float64) {
	sum, count := map[float64]float64{}, map[float64]float64{}
	for i, v := range q {
		raw = append(raw, 1/v)
		sum[x[i]] += raw[i]
		count[x[i]]++
	}
	y = slices.Clone(raw)
	free = float64(len(x) - len(count))
	if free == 0 {
		return raw, y, 0
	}
	noise := 0.
	for i, v := range y {
		noise += math.Pow(v-sum[x[i]]/count[x[i]], 2) / free
	}
	for i := range y {
		mean := sum[x[i]] / count[x[i]]
		y[i] /= 1 + noise/(mean*mean)
	}
	return raw, y, free
}

// jumps reports whether two constants leave less than half of the line's residuals, and are
// far apart: a cliff.
func jumps(y []float64, residual float64) bool {
	sorted := slices.Clone(y)
	slices.Sort(sorted)
	best, ratio := math.Inf(1), 1.0
	for i := 1; i < len(sorted); i++ {
		slow, slowRest := stat.Moments(sorted[:i])
		fast, fastRest := stat.Moments(sorted[i:])
		if rest := slowRest + fastRest; rest < best {
			best, ratio = rest, fast/slow
		}
	}
	return 2*best < residual && ratio > leastJump
}

// usable returns the points to fit, and the accepted range of the answer: the rates tried, up
// to one rung above the first without a steady response time.
func usable(points []Point) (x, q []float64, reach stat.Interval) {
	reach = stat.Interval{Low: math.Inf(1), High: math.Inf(-1)}
	spoilt := map[float64]bool{}
	for _, p := range points {
		reach.Low, reach.High = math.Min(reach.Low, p.Rate), math.Max(reach.High, p.Rate)
		if !(p.Seconds > 0) || math.IsInf(p.Seconds, 1) {
			spoilt[p.Rate] = true
		}
	}
	for _, p := range points {
		if !spoilt[p.Rate] {
			x, q = append(x, p.Rate), append(q, p.Seconds)
		}
	}
	for rate := range spoilt {
		if len(x) > 0 && rate > slices.Max(x) {
			reach.High = math.Min(reach.High, rate*(1+rungStep))
		}
	}
	return x, q, reach
}

// moved returns the relative drift of the peak during the ladder, from the points in order of
// time; ok reports whether it is significant, and too large for a single peak.
//
// Source: partial regression on the order, Frisch & Waugh (1933).
func moved(points []Point, rate float64) (share float64, ok bool) {
	x, y, _ := usable(points)
	if len(x) != len(points) || len(x) < 6 {
		return 0, false // a gap would shift the order
	}
	order := make([]float64, len(x))
	for i := range order {
		order[i], y[i] = float64(i), 1/y[i]
	}
	ofOrder, okOrder := stat.FitLine(x, order)
	ofY, okY := stat.FitLine(x, y)
	if !okOrder || !okY {
		return 0, false
	}
	for i := range x {
		order[i] -= ofOrder.At(x[i])
		y[i] -= ofY.At(x[i])
	}
	rest, okRest := stat.FitLine(order, y)
	if !okRest {
		return 0, false
	}
	df := float64(len(x) - 3)
	margin := math.Sqrt(rest.Residual/df/rest.SpreadX) * stat.TQuantile(0.5+movedLevel/2, df)
	share = -rest.Slope / ofY.Slope * float64(len(x)-1) / rate
	return share, math.Abs(rest.Slope) > margin && math.Abs(share) > movedMost
}
