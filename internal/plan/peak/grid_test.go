package peak

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/plan/plantest"
)

// grid is the sweep that people run without a search: rates in equal steps from
// about the first, each tried several times, until two rates in a row mostly fail.
type grid struct {
	step    float64 // 1/s
	repeats int
}

// swept is what a grid says, by three ways to read it.
type swept struct {
	most, all, fitted [2]float64 // the interval
	seconds           float64
}

// sweep reads the grid: most puts the peak between the last rate that passed by most of its
// tries and the next; all between the last that passed each time and the first that failed
// each time; fitted uses the estimate of the search on the last five rates. The grid
// starts anywhere within a step, since nobody knows where the peak lies between two rates.
func (g grid) sweep(v server, r *rand.Rand) (out swept) {
	start := 100 + g.step*r.Float64()
	failing, kept := 0, []int{}
	var points []Point
	for i := 0; failing < 2; i++ {
		p := Probe{Rate: start + g.step*float64(i), Seconds: 30}
		kept = append(kept, 0)
		for range g.repeats {
			t := v.serve(r, p, 0).judged()
			points = append(points, Point{Rate: p.Rate, Seconds: t.quantile(0)})
			out.seconds += p.Seconds
			if t.Pass {
				kept[i]++
			}
		}
		if failing++; 2*kept[i] > g.repeats {
			failing = 0
		}
	}
	at := func(i int) float64 { return start + g.step*float64(i) }
	first := slices.IndexFunc(kept, func(k int) bool { return 2*k < g.repeats })
	out.most = [2]float64{at(first - 1), at(first)}
	notAll := slices.IndexFunc(kept, func(k int) bool { return k < g.repeats })
	none := slices.Index(kept, 0)
	if none < 0 {
		none = len(kept)
	}
	out.all = [2]float64{at(notAll - 1), at(none)}
	f := Estimate(points[max(0, len(points)-5*g.repeats):], limit, 0.95)
	out.fitted = [2]float64{f.Low, f.High}
	return out
}

// reading is how well one way to read a grid does.
type reading struct {
	covered plantest.Rate
	widths  []float64
}

func (c *reading) take(i [2]float64, truth float64) {
	c.covered.Count(i[0] <= truth && truth <= i[1])
	c.widths = append(c.widths, (i[1]-i[0])/truth)
}

// The search, with its long confirmations, which no grid has, must need at most a
// third of the load time of a grid that gives the same interval: that has the
// width of the search's as its step, and repeats each rate until its interval covers in
// 90 %. Reading a grid by "each time" gives no such interval, however fine it is. A grid that borrows
// the fit of the search does far better; how far is logged, and is not a promise.
func TestSearchAgainstAGrid(t *testing.T) {
	n, seed := plantest.Repetitions(t, effort.Of(60), 2_000)
	v := single("M/M/1", constant(1000))
	truth := v.truth(0)
	c := many(n, seed, asked, v)
	width, total := 2*plantest.Median(c.half), plantest.Median(c.seconds)
	t.Logf("search: covers %.3f, width %.3f, %.0f s with confirmations of 900 s and more", c.covered.Share(), width, total)
	measure := func(g grid) (most, all, fitted reading, seconds float64) {
		var times []float64
		for i := range n {
			s := g.sweep(v, rand.New(rand.NewPCG(seed+uint64(i), 9)))
			most.take(s.most, truth)
			all.take(s.all, truth)
			fitted.take(s.fitted, truth)
			times = append(times, s.seconds)
		}
		seconds = plantest.Median(times)
		t.Logf("step %.0f, %d times, %.0f s: most covers %.3f with width %.3f, all %.3f with %.3f, the search's fit %.3f with %.3f", g.step, g.repeats, seconds,
			most.covered.Share(), plantest.Median(most.widths), all.covered.Share(), plantest.Median(all.widths), fitted.covered.Share(), plantest.Median(fitted.widths))
		return most, all, fitted, seconds
	}
	same := math.Inf(1)
	for _, repeats := range []int{3, 9, 27, 81, 243} {
		most, _, _, seconds := measure(grid{width * truth, repeats})
		if most.covered.Share() >= 0.90 {
			same = seconds
			break
		}
	}
	if total > same/3 {
		t.Errorf("search takes %.0f s, a grid with the same interval %.0f s", total, same)
	}
	for _, g := range []grid{{8, 2}, {8, 3}, {18, 2}, {18, 3}} {
		_, all, _, seconds := measure(g)
		if all.covered.Share() >= 0.90 && plantest.Median(all.widths) <= width && seconds < 3*total {
			t.Errorf("%+v gives the same interval in %.0f s, the search takes %.0f s", g, seconds, total)
		}
	}
}
