package reflector

import (
	"math/rand/v2"
	"testing"
)

// oracle stores every number.
type oracle struct {
	came    map[uint64]bool
	highest int64
}

func (o *oracle) add(n uint64) arrival {
	switch {
	case o.came[n]:
		return repeated
	case int64(n) > o.highest:
		o.highest = int64(n)
		o.came[n] = true
		return first
	}
	o.came[n] = true
	return late
}

// Lost, duplicate and late numbers within the window are classified as by an oracle that
// stores all numbers.
func TestWindowAgainstOracle(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		w, o := new(window), &oracle{map[uint64]bool{}, -1}
		var next uint64
		held := []uint64{}
		take := func(n uint64) {
			if got, want := w.add(n), o.add(n); got != want {
				t.Fatalf("seed %d: number %d at %d is %d, want %d", seed, n, w.next, got, want)
			}
			if got, want := w.missing(), o.highest+1-int64(len(o.came)); got != want {
				t.Fatalf("seed %d: %d missing, want %d", seed, got, want)
			}
		}
		for range 30_000 {
			switch p := r.Float64(); {
			case p < .1: // lost
			case p < .2:
				take(next)
				take(next)
			case p < .3:
				held = append(held, next)
			case p < .301:
				next += uint64(r.IntN(span / 2))
			default:
				take(next)
			}
			next++
			for len(held) > 0 && (next-held[0] > span/4 || r.Float64() < .05) {
				if n := held[0]; w.next <= n || w.next-n < span {
					take(n)
				}
				held = held[1:]
			}
		}
	}
}

func TestWindowBeyondItsSpan(t *testing.T) {
	w := new(window)
	for n := range uint64(3 * span) {
		if n != 7 && w.add(n) != first {
			t.Fatalf("number %d is not the first", n)
		}
	}
	if w.missing() != 1 {
		t.Errorf("%d missing of one", w.missing())
	}
	if got := w.add(7); got != late || w.missing() != 0 {
		t.Errorf("the late one counts as %d and leaves %d missing", got, w.missing())
	}
	if got := w.add(7); got != repeated || w.missing() != 0 {
		t.Errorf("with none missing, an old one counts as %d and leaves %d missing", got, w.missing())
	}
	if got := w.add(1 << 60); got != absurd || w.missing() != 0 {
		t.Errorf("an absurd number counts as %d and leaves %d missing", got, w.missing())
	}
	if got := w.add(10 * span); got != first || w.missing() != 7*span {
		t.Errorf("a jump counts as %d and leaves %d missing", got, w.missing())
	}
}
