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

// cheapest is the grid with the least load time whose interval holds the truth as often and is no wider.
// Its steps are the width or a part of it. ok is false if none of those tried gives such an
// interval; seconds is then the time of the longest.
func cheapest(t *testing.T, v server, n int, seed uint64, covers, width float64) (seconds float64, ok bool) {
	t.Helper()
	truth, best, longest := v.truth(0), math.Inf(1), 0.
	for _, part := range []float64{1, 2, 3} {
		for _, repeats := range []int{1, 2, 3, 5, 9} {
			var most, all, fitted reading
			var times []float64
			for i := range n {
				s := grid{width * truth / part, repeats}.sweep(v, rand.New(rand.NewPCG(seed+uint64(i), 9)))
				most.take(s.most, truth)
				all.take(s.all, truth)
				fitted.take(s.fitted, truth)
				times = append(times, s.seconds)
			}
			took := plantest.Median(times)
			longest = max(longest, took)
			t.Logf("%s: steps of %.3f, %d times, %.0f s: most covers %.3f with width %.3f, all %.3f with %.3f, the search's fit %.3f with %.3f", v.name, width/part, repeats, took,
				most.covered.Share(), plantest.Median(most.widths), all.covered.Share(), plantest.Median(all.widths), fitted.covered.Share(), plantest.Median(fitted.widths))
			for _, c := range []reading{most, all} {
				if c.covered.Share() >= covers && plantest.Median(c.widths) <= 1.001*width {
					best = min(best, took)
				}
			}
		}
	}
	if math.IsInf(best, 1) {
		return longest, false
	}
	return best, true
}

// The search, with its long confirmations, which no grid has, needs at most a third of the load
// time of the cheapest grid with the same interval. A grid that borrows the fit of the search
// does far better; how far is logged, and is not a promise. Noise moves the cliff from probe to
// probe, and rates near it need many probes.
func TestSearchAgainstAGrid(t *testing.T) {
	n, seed := plantest.Repetitions(t, effort.Of(240), 1_000)
	for _, v := range []server{
		single("M/M/1", constant(1000)),
		several("M/M/2", 500, 2),
		several("M/M/4", 1000, 4),
		cliff("cliff", true),
	} {
		c := many(n, seed, asked, v)
		width, took := 2*plantest.Median(c.half), plantest.Median(c.seconds)
		covers := min(0.96, c.covered.Share())
		t.Logf("%s: the search covers %.3f, width %.3f, %.0f s", v.name, c.covered.Share(), width, took)
		same, ok := cheapest(t, v, n, seed, covers, width)
		t.Logf("%s: the grid takes %.0f s (%v), the search %.2f of it", v.name, same, ok, took/same)
		if took > same/3 {
			t.Errorf("%s: the search takes %.0f s, a grid with the same interval %.0f s", v.name, took, same)
		}
	}
}
