package stat

import (
	"fmt"
	"math"
	"testing"
)

// Interval returns the interval of the mean.
func (p Paired) Interval() Interval { return Interval{Low: p.Low, High: p.High} }

// Interval returns the interval of the mean.
func (e Effect) Interval() Interval { return Interval{Low: e.Low, High: e.High} }

// Contains says whether v lies in the interval, ends included.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

func TestPairedIntervalCoversWhateverTheNoise(t *testing.T) {
	s := Simulations(t)
	const truth = 0.03
	for _, noise := range shapes() {
		for _, n := range []int{4, 6, 8, 12, 24} {
			s.Within(t, fmt.Sprintf("%s, n %d", noise.name, n), 0.935, 0.98, func(r *normal) float64 {
				return s.Share(func() bool {
					return PairedT(differences(r, noise, n, 0.01, truth), 0.95).Interval().Contains(truth)
				})
			})
		}
	}
}

func TestPairedIntervalHasItsNominalLevelOnNormalNoise(t *testing.T) {
	s := Simulations(t)
	low, high := s.Nominal()
	for _, n := range []int{2, 6, 24} {
		s.Within(t, fmt.Sprintf("misses of 95 %%, n %d", n), low, high, func(r *normal) float64 {
			return s.Share(func() bool {
				return !PairedT(differences(r, shapes()[0], n, 0.01, 0), 0.95).Interval().Contains(0)
			})
		})
	}
}

func TestWelchCoversUnequalArms(t *testing.T) {
	s := Simulations(t)
	s.Within(t, "misses of 95 %", s.Either(0.034, 0.043), s.Either(0.066, 0.057), func(r *normal) float64 {
		return s.Share(func() bool {
			a, b := make([]float64, 6), make([]float64, 12)
			for i := range a {
				a[i] = 3 * r.NormFloat64()
			}
			for i := range b {
				b[i] = 1 + r.NormFloat64()
			}
			return !Welch(a, b, 0.95).Interval().Contains(1)
		})
	})
}

func TestPooledVarianceWouldNotCover(t *testing.T) {
	s := Simulations(t)
	s.Within(t, "misses of a pooled 95 % interval", 0.10, 1, func(r *normal) float64 {
		return s.Share(func() bool {
			a, b := make([]float64, 6), make([]float64, 12)
			for i := range a {
				a[i] = 3 * r.NormFloat64()
			}
			for i := range b {
				b[i] = r.NormFloat64()
			}
			meanA, squaresA := Moments(a)
			meanB, squaresB := Moments(b)
			se := math.Sqrt((squaresA + squaresB) / 16 * (1.0/6 + 1.0/12))
			return math.Abs(meanB-meanA) > TQuantile(0.975, 16)*se
		})
	})
}
