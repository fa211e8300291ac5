package tune

import (
	"math"
	"math/rand/v2"
	"slices"
)

// surface is a simulated system: the logarithm of its rate is the sum of what its settings give, with noise of the block and of the
// trial. One to three settings matter, with one best level each, and two others do harm. Of a bottleneck, the settings save time of an
// operation: most of it is the first one's, and what others save shows only afterwards.
type surface struct {
	gains  [][]float64 // by setting and level
	pair   [2]int      // once the first has changed, the gain of the second is scaled
	scale  float64
	total  float64 // time of an operation at first; 0 where gains are those of the logarithm
	cv     float64
	rng    *rand.Rand
	trials int
}

// kinds of surfaces.
const (
	independent = "no"
	paired      = "pair"
	bottleneck  = "bottleneck"
)

func newSurface(settings int, cv float64, kind string, seed uint64) *surface {
	w := &surface{cv: cv, scale: 1, rng: rand.New(rand.NewPCG(seed, 7)), gains: make([][]float64, settings)}
	order := w.rng.Perm(settings)
	active := 1 + int(seed)%3
	if kind == bottleneck {
		active, w.total = 2+int(seed)%2, 1
	}
	for n, k := range order {
		w.gains[k] = make([]float64, levelsOf)
		height, peak := math.Log1p(.08+.5*w.rng.Float64()), 1+w.rng.IntN(levelsOf-1)
		if kind == bottleneck && n < active {
			height = []float64{3, .2, .1}[n] * (1 + 3*w.rng.Float64())
			w.total += height
		}
		for i := 1; i < levelsOf; i++ {
			switch {
			case n < active:
				w.gains[k][i] = height * (1 - math.Abs(float64(i-peak))*.4)
			case n < active+2:
				w.gains[k][i] = -.05 * float64(i)
			}
		}
	}
	if w.pair = [2]int{order[0], order[1]}; kind == paired && active > 1 {
		w.scale = -.3
	}
	return w
}

func (w *surface) truth(at []int) float64 {
	sum := 0.
	for k, i := range at {
		gain := w.gains[k][i]
		if k == w.pair[1] && at[w.pair[0]] != 0 {
			gain *= w.scale
		}
		sum += gain
	}
	if w.total > 0 {
		return -math.Log(w.total - sum)
	}
	return sum
}

// best is the truth of the best combination.
func (w *surface) best() float64 {
	at, sum := make([]int, len(w.gains)), math.Inf(-1)
	var rest func(k int)
	rest = func(k int) {
		if k == len(w.gains) {
			sum = max(sum, w.truth(at))
			return
		}
		if !slices.ContainsFunc(w.gains[k], func(g float64) bool { return g > 0 }) { // harmful or idle
			at[k] = 0
			rest(k + 1)
			return
		}
		for at[k] = range levelsOf {
			rest(k + 1)
		}
	}
	rest(0)
	return sum
}

func (w *surface) block(arms [][]int) []float64 {
	shared, out := w.cv*w.rng.NormFloat64(), make([]float64, len(arms))
	for i, at := range arms {
		w.trials++
		out[i] = w.truth(at) + shared + w.cv*w.rng.NormFloat64()
	}
	return out
}

// verify reports whether fresh blocks confirm a change: a one-sided t bound at 95 %.
func (w *surface) verify(from, to []int) bool {
	const t = 2.015 // 5 degrees of freedom
	sum, squares := 0., 0.
	for range verified {
		v := w.block([][]int{from, to})
		sum, squares = sum+v[1]-v[0], squares+(v[1]-v[0])*(v[1]-v[0])
	}
	mean := sum / verified
	return mean > t*math.Sqrt((squares-sum*mean)/(verified-1)/verified)
}
