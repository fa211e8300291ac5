// Package score computes the consolidation score of a host that carries tiles, as VMmark 3
// publishes it: the geometric mean of the members of a tile, the sum over the tiles, and
// management operations with a nominal weight of 20 %. It is pure: ratios in, score out.
//
// Whether all limits of quality held is for the caller to judge; a score without them means nothing.
package score

import (
	"errors"
	"fmt"
	"math"
)

// The nominal weights of the parts of an overall score.
const (
	ApplicationsWeight = 0.8
	OperationsWeight   = 0.2
)

// Names of the metric that Headline returns.
const (
	Name             = "score"              // of applications and operations together
	NameApplications = "score.applications" // of applications alone
)

// Tile is the ratios of the members of one tile: what each achieved by its reference, from Ratio.
// Members without a throughput, such as a standby machine, have no ratio.
type Tile []float64

// Score is what a host with tiles scored. All values are ratios to the reference and have no unit.
type Score struct {
	Tiles        []float64 // of each tile, in their order: the geometric mean of its members
	Applications float64   // the sum over the tiles
	Worst        int       // index of the tile that scored least; the first of equals
	Fairness     float64   // Jain's index of the tiles: 1 if all are equal, 1/n if one has everything
	Overall      *Overall  // nil where the study declares no operations
}

// Overall is a score of applications and operations together.
type Overall struct {
	Score      float64 // 0.8 × applications + 0.2 × operations
	Operations float64 // geometric mean of the kinds of operation, once per cluster
	// The share of each part in the score. Operations do not grow with the tiles, so that
	// their share falls far below the nominal 20 %. Both are 0 if the score is 0.
	ApplicationsShare, OperationsShare float64
}

// Of computes the score of tiles and of management operations, whose ratios are of operations
// per hour. Without operations the result has no overall score, rather than one in which they
// count as 0. It fails if there is no tile, a tile has no member, or a ratio is negative or not finite.
func Of(tiles []Tile, operations []float64) (Score, error) {
	if len(tiles) == 0 {
		return Score{}, errors.New("computing a score: there is no tile; the study needs at least one")
	}
	var s Score
	for i, t := range tiles {
		mean, err := geometricMean(t)
		if err != nil {
			return Score{}, fmt.Errorf("computing the score of tile %d: %w", i+1, err)
		}
		s.Tiles = append(s.Tiles, mean)
		s.Applications += mean
		if mean < s.Tiles[s.Worst] {
			s.Worst = i
		}
	}
	s.Fairness = fairness(s.Tiles)
	if len(operations) == 0 {
		return s, nil
	}
	infrastructure, err := geometricMean(operations)
	if err != nil {
		return Score{}, fmt.Errorf("computing the score of operations: %w", err)
	}
	o := combine(s.Applications, infrastructure)
	s.Overall = &o
	return s, nil
}

// combine weighs the score of applications and that of operations.
func combine(applications, operations float64) Overall {
	a, o := ApplicationsWeight*applications, OperationsWeight*operations
	out := Overall{Score: a + o, Operations: operations}
	if out.Score > 0 {
		out.ApplicationsShare, out.OperationsShare = a/out.Score, o/out.Score
	}
	return out
}

// Headline returns the metric that stands for the host, and its name: the overall score, or that
// of the applications where the study declares no operations. The two must not be compared.
func (s Score) Headline() (name string, value float64) {
	if s.Overall != nil {
		return Name, s.Overall.Score
	}
	return NameApplications, s.Applications
}

// String writes the score as it is published, with the number of tiles: "9.02 @ 9".
func (s Score) String() string {
	_, value := s.Headline()
	return fmt.Sprintf("%.2f @ %d", value, len(s.Tiles))
}

// PerKilowatt is the headline by the mean power in watts of the servers, or of servers and storage.
// It fails if the power is not above 0.
func (s Score) PerKilowatt(watts float64) (float64, error) {
	if !(watts > 0) || math.IsInf(watts, 1) {
		return 0, fmt.Errorf("computing a score per kilowatt: a power of %g W; it must be above 0", watts)
	}
	_, value := s.Headline()
	return value / (watts / 1000), nil
}

// Ratio is what a workload achieved by what it achieves on the reference host, both per unit of
// time. It fails if the reference is not above 0, or what was achieved is negative or not finite.
func Ratio(achieved, reference float64) (float64, error) {
	if !(reference > 0) || math.IsInf(reference, 1) {
		return 0, fmt.Errorf("computing a ratio: a reference of %g; it must be above 0, measured on an idle host", reference)
	}
	if err := check(achieved); err != nil {
		return 0, fmt.Errorf("computing a ratio: %w", err)
	}
	return achieved / reference, nil
}

// geometricMean is the n-th root of the product of n ratios, by their logarithms so that no
// product overflows. One 0 makes it 0. It fails without ratios, and if one is negative or not finite.
func geometricMean(ratios []float64) (float64, error) {
	if len(ratios) == 0 {
		return 0, errors.New("no workload has a ratio to a reference; declare a reference")
	}
	sum := 0.0
	for _, r := range ratios {
		if err := check(r); err != nil {
			return 0, err
		}
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios))), nil
}

// fairness is the index of Jain, Chiu and Hawe (1984): (Σx)² / (n Σx²) of values that are not
// negative. It is 1 where all are equal, which includes all 0, and 1/n where one has everything.
func fairness(values []float64) float64 {
	largest := 0.0
	for _, v := range values {
		largest = math.Max(largest, v)
	}
	if largest == 0 {
		return 1
	}
	sum, squares := 0.0, 0.0
	for _, v := range values {
		v /= largest
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(values)) * squares)
}

func check(ratio float64) error {
	if !(ratio >= 0) || math.IsInf(ratio, 1) {
		return fmt.Errorf("%g is not a ratio of two rates; it must be a number of at least 0", ratio)
	}
	return nil
}
