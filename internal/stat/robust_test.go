package stat

import (
	"encoding/binary"
	"math"
	"testing"
)

// FuzzEverything feeds arbitrary numbers to everything: nothing may panic, hang or
// call an effect shown on numbers that are none.
func FuzzEverything(f *testing.F) {
	add := func(v ...float64) {
		var data []byte
		for _, v := range v {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		f.Add(data, int64(3), int64(70))
	}
	add()
	add(0.95)
	add(0.95, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	add(0.5, 0, 0, 0, 0)
	add(1, math.MaxFloat64, -math.MaxFloat64, 5e-324)
	add(0, math.NaN(), math.Inf(1), math.Inf(-1))
	add(-1, 1e-300, 1e-300, 2e-300)
	add(1e-9, 1, math.Nextafter(1, 2), 1)
	f.Fuzz(func(t *testing.T, data []byte, k, n int64) {
		var x []float64
		for len(data) >= 8 && len(x) < 100 {
			x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(data)))
			data = data[8:]
		}
		share := 0.95
		if len(x) > 0 {
			share, x = x[0], x[1:]
		}
		samples(t, x, share)
		numbers(t, x, share, k, n)
	})
}

// samples calls what takes a sample.
func samples(t *testing.T, x []float64, share float64) {
	p := PairedT(x, share)
	if !Finite(x) && (p.P != 1 || Judge(p.Low, p.High, 0.02) != Undecided) {
		t.Errorf("%v: %+v of numbers that are none", x, p)
	}
	for _, v := range []float64{p.P, Welch(x, x[len(x)/2:], share).P, SignedRank(x)} {
		if !(v >= 0 && v <= 1) {
			t.Errorf("%v: p = %g", x, v)
		}
	}
	LogMeanInterval(x, share)
	var blocks []Block
	for i := 0; i+3 < len(x); i += 4 {
		blocks = append(blocks, block(x[i], x[i+1], x[i+2], x[i+3]))
	}
	e := Contrast(blocks, share)
	if !(e.P >= 0 && e.P <= 1) {
		t.Errorf("%v: p = %g", blocks, e.P)
	}
	MoreBlocks(e, share, 0.05)
	MoreBlocks(e, 0.02, share)
	MarginWithinReach(e, len(x), share)
	SteinTotal(x, share, 0.95)
	SteinInterval(x, len(x)/2, share)
	steinP(x, len(x)/2)
	Holm(x)
	BenjaminiHochberg(x)
	ModeratedT([][]float64{x, x[len(x)/2:], x[:len(x)/2], x}, share)
	if cut, _ := MSER5(x); cut < 0 || cut > len(x) {
		t.Errorf("cut %d of %d", cut, len(x))
	}
	Drift(x, share)
	SNIASteady(x)
	BatchMeans(x, 20)
}

// numbers calls what takes single numbers.
func numbers(t *testing.T, x []float64, share float64, k, n int64) {
	at := func(i int) float64 {
		if i < len(x) {
			return x[i]
		}
		return 1
	}
	Judge(at(0), at(1), share)
	TQuantile(share, at(0))
	if blocks := BlocksNeeded(at(0), at(1), share, at(2)); blocks < 2 || blocks > MostBlocks {
		t.Errorf("%d blocks", blocks)
	}
	DetectableEffect(at(0), int(k%1000), share, at(1))
	if p := BinomialRate(k%1_000_000, at(0), n%1_000_000, at(1)); !(p >= 0 && p <= 1) {
		t.Errorf("BinomialRate(%d, %g, %d, %g) = %g", k, at(0), n, at(1), p)
	}
	if ratio, low, high := RateRatio(Rate{k % 1_000_000, at(0)}, Rate{n % 1_000_000, at(1)}, share); share > 0 && share < 1 && (low > ratio || high < ratio) {
		t.Errorf("RateRatio(%d, %g, %d, %g) = %g in %g..%g at %g", k, at(0), n, at(1), ratio, low, high, share)
	}
	ZeroFailuresBound(n)
	if p := Fisher(int(k%100), int(n%100), int(n%50), int(k%50)); !(p >= 0 && p <= 1) {
		t.Errorf("Fisher = %g", p)
	}
	Shuffle(int(n%100), uint64(k), int(k))
}
