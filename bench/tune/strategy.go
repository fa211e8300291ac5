package tune

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
)

// Of the simulated tunings.
const (
	tunings  = 400 // for each row
	levelsOf = 4   // of each setting, the present one included
	changes  = 5   // verified at most
	verified = 6   // blocks of a verification
	near     = 0.05
)

func with(at []int, k, i int) []int {
	to := slices.Clone(at)
	to[k] = i
	return to
}

// strategy finds settings, and counts its trials in the surface.
type strategy struct {
	name string
	run  func(*surface) []int
}

var strategies = []strategy{
	{"each setting in turn, its levels in 4 blocks", func(w *surface) []int { return inTurn(w, wholeRace) }},
	{"each setting in turn, halving its levels", func(w *surface) []int { return inTurn(w, halving) }},
	{"each setting in turn, golden section", func(w *surface) []int { return inTurn(w, golden) }},
	{"12 runs of Plackett and Burman, then the levels of what matters", plackettBurman},
	{"all levels, halved every 2 blocks", func(w *surface) []int { return together(w, halved) }},
	{"all levels race, 2 standard errors", func(w *surface) []int { return together(w, racing(2)) }},
	{"all levels race, 1 standard error", func(w *surface) []int { return together(w, racing(1)) }},
	{"the same, again once no level is left", func(w *surface) []int { return repeated(w, 0, math.Inf(1)) }},
	{"the same, again if 20 % were gained, at once after 50 %", func(w *surface) []int { return repeated(w, .2, .5) }},
	{"the same, again if 20 % were gained, at once after 100 %", func(w *surface) []int { return repeated(w, .2, 1) }},
	{"the same, again if 10 % were gained, at once after 30 %", func(w *surface) []int { return repeated(w, .1, .3) }},
	{"the same, again after each change", func(w *surface) []int { return repeated(w, 0, 0) }},
}

// inTurn searches one setting after the other and verifies the best level of each.
func inTurn(w *surface, search func(*surface, []int, int) (int, float64)) []int {
	at := make([]int, len(w.gains))
	tried := 0
	for k := range w.gains {
		if tried == changes {
			break
		}
		i, gain := search(w, at, k)
		if i == 0 || gain < .01 {
			continue
		}
		if tried++; w.verify(at, with(at, k, i)) {
			at = with(at, k, i)
		}
	}
	return at
}

// measured is the mean of each level of a setting over some blocks.
func (w *surface) measured(at []int, k int, levels []int, blocks int) []float64 {
	var arms [][]int
	for _, i := range levels {
		arms = append(arms, with(at, k, i))
	}
	means := make([]float64, len(levels))
	for range blocks {
		for i, v := range w.block(arms) {
			means[i] += v / float64(blocks)
		}
	}
	return means
}

func wholeRace(w *surface, at []int, k int) (int, float64) {
	levels := []int{0, 1, 2, 3}
	means := w.measured(at, k, levels, 4)
	best := 0
	for i := range levels {
		if means[i] > means[best] {
			best = i
		}
	}
	return best, means[best] - means[0]
}

func halving(w *surface, at []int, k int) (int, float64) {
	levels := []int{1, 2, 3}
	for blocks := 2; ; blocks = 2 {
		means := w.measured(at, k, append([]int{0}, levels...), blocks)
		order := slices.Clone(levels)
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Compare(means[slices.Index(levels, b)+1], means[slices.Index(levels, a)+1])
		})
		if len(order) == 1 {
			return order[0], means[1] - means[0]
		}
		levels = order[:(len(order)+1)/2]
	}
}

// golden compares the two inner levels of the range in 3 blocks, and leaves out the end next to the worse one.
func golden(w *surface, at []int, k int) (int, float64) {
	low, high := 0, levelsOf-1
	for high-low > 1 {
		a, b := low+(high-low)/3, high-(high-low)/3
		if a == b {
			b = a + 1
		}
		means := w.measured(at, k, []int{a, b}, 3)
		if means[0] < means[1] {
			low = a + 1
		} else {
			high = b - 1
		}
	}
	if low == high {
		means := w.measured(at, k, []int{0, low}, 3)
		return low, means[1] - means[0]
	}
	means := w.measured(at, k, []int{0, low, high}, 3)
	if means[1] > means[2] {
		return low, means[1] - means[0]
	}
	return high, means[2] - means[0]
}

// plackettBurman screens each setting at its middle level with the 12 runs of Plackett and Burman (1946), for up to 11 settings; then the levels of those
// that seem to matter are halved, the strongest first.
func plackettBurman(w *surface) []int {
	row := []int{1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1}
	sign := func(run, k int) int {
		if run == 11 {
			return -1
		}
		return row[(k-run+22)%11]
	}
	arms := make([][]int, 12)
	for run := range arms {
		arms[run] = make([]int, len(w.gains))
		for k := range w.gains {
			if sign(run, k) > 0 {
				arms[run][k] = levelsOf / 2
			}
		}
	}
	effects, order := make([]float64, len(w.gains)), make([]int, len(w.gains))
	for run, v := range w.block(arms) {
		for k := range effects {
			effects[k] += float64(sign(run, k)) * v / 6
			order[k] = k
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(effects[b]), math.Abs(effects[a])) })
	at := make([]int, len(w.gains))
	for n, k := range order {
		if n == changes || math.Abs(effects[k]) < .02 {
			break
		}
		if i, gain := halving(w, at, k); gain > .01 && w.verify(at, with(at, k, i)) {
			at = with(at, k, i)
		}
	}
	return at
}

// entrant is a level of a setting in a race of all.
type entrant struct {
	k, i  int
	gains []float64
}

func (e *entrant) mean() float64 {
	sum := 0.
	for _, g := range e.gains {
		sum += g
	}
	return sum / float64(len(e.gains))
}

// together races all levels of all settings against the present ones, and verifies the best of each setting, the most promising first.
func together(w *surface, leave func(in []*entrant) (rest []*entrant, done bool)) []int {
	at, seen, tried := make([]int, len(w.gains)), map[int]bool{}, 0
	for _, e := range raced(w, at, leave) {
		if seen[e.k] || tried == changes || e.mean() < .01 {
			continue
		}
		seen[e.k] = true
		if tried++; w.verify(at, with(at, e.k, e.i)) {
			at = with(at, e.k, e.i)
		}
	}
	return at
}

// repeated races all levels again once the changes of a race are verified and gained so much together, and at once after one that
// gained much by itself: what others bring is different then. What was not confirmed may be tried again then.
func repeated(w *surface, together, alone float64) []int {
	at, tried := make([]int, len(w.gains)), 0
	for again := true; again && tried < changes; {
		seen, sum := map[int]bool{}, 0.
		for _, e := range raced(w, at, racing(1)) {
			if seen[e.k] || tried == changes || e.mean() < .01 {
				continue
			}
			seen[e.k] = true
			if tried++; w.verify(at, with(at, e.k, e.i)) {
				at, sum = with(at, e.k, e.i), sum+e.mean()
				if e.mean() > math.Log1p(alone) {
					break
				}
			}
		}
		again = sum > math.Log1p(together)
	}
	return at
}

// raced are the levels that a race leaves, the best one first.
func raced(w *surface, at []int, leave func(in []*entrant) (rest []*entrant, done bool)) (in []*entrant) {
	for k := range w.gains {
		for i := range levelsOf {
			if i != at[k] {
				in = append(in, &entrant{k: k, i: i})
			}
		}
	}
	for stage := 0; stage < 3 && len(in) > 0; stage++ {
		arms := [][]int{at}
		for _, e := range in {
			arms = append(arms, with(at, e.k, e.i))
		}
		for range 2 {
			v := w.block(arms)
			for j, e := range in {
				e.gains = append(e.gains, v[j+1]-v[0])
			}
		}
		done := false
		if in, done = leave(in); done {
			break
		}
	}
	slices.SortFunc(in, func(a, b *entrant) int { return cmp.Compare(b.mean(), a.mean()) })
	return in
}

// halved leaves the better half.
func halved(in []*entrant) ([]*entrant, bool) {
	slices.SortFunc(in, func(a, b *entrant) int { return cmp.Compare(b.mean(), a.mean()) })
	return in[:(len(in)+1)/2], len(in) <= changes
}

// racing leaves out what is clearly below the best of its setting or clearly no gain, as package tune does.
func racing(errors float64) func([]*entrant) ([]*entrant, bool) {
	return func(in []*entrant) (rest []*entrant, done bool) {
		sum, freedom := 0., 0
		best := map[int]float64{}
		for _, e := range in {
			mean := e.mean()
			for _, g := range e.gains {
				sum += (g - mean) * (g - mean)
			}
			freedom += len(e.gains) - 1
			if b, ok := best[e.k]; !ok || mean > b {
				best[e.k] = mean
			}
		}
		done = true
		seen := map[int]bool{}
		for _, e := range in {
			reach := errors * math.Sqrt(sum/float64(freedom)/float64(len(e.gains)))
			if e.mean()+reach < .01 || e.mean()+reach < best[e.k] {
				continue
			}
			rest = append(rest, e)
			done = done && !seen[e.k] && e.mean() > reach
			seen[e.k] = true
		}
		return rest, done
	}
}

// Strategies simulates ways to search several levels of several settings and prints their rates as a table in Markdown.
func Strategies(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintf(table, "| settings\t| noise\t| interaction\t| strategy\t| within 5 %%\t| trials\t|\n|---\t|---\t|---\t|---\t|---\t|---\t|\n")
	for _, settings := range []int{3, 5, 11} {
		for _, cv := range []float64{.02, .05} {
			for _, kind := range []string{independent, paired, bottleneck} {
				for _, s := range strategies {
					hits, trials := s.rates(settings, cv, kind)
					fmt.Fprintf(table, "| %d\t| %g %%\t| %s\t| %s\t| %.0f %%\t| %.0f\t|\n", settings, 100*cv, kind, s.name, 100*hits, trials)
				}
			}
		}
	}
	return table.Flush()
}

// rates are the share of tunings that end within 5 % of the best, and their trials on average.
func (s strategy) rates(settings int, cv float64, kind string) (hits, trials float64) {
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan uint64)
	for range runtime.NumCPU() {
		all.Go(func() {
			for seed := range next {
				w := newSurface(settings, cv, kind, seed)
				at := s.run(w)
				mu.Lock()
				if w.best()-w.truth(at) < math.Log1p(near) {
					hits += 1. / tunings
				}
				trials += float64(w.trials) / tunings
				mu.Unlock()
			}
		})
	}
	for seed := range uint64(tunings) {
		next <- seed
	}
	close(next)
	all.Wait()
	return hits, trials
}
