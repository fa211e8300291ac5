package task

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/vsphere/sim/clock"
)

// Times models the durations of operations. The zero value has none.
type Times struct {
	Seed uint64
	// Mean is the mean duration by operation, such as powerOn. Others have no duration.
	Mean map[string]time.Duration
	// Spread is the standard deviation in parts of the mean; durations have a log-normal distribution.
	Spread float64
}

// Names are the operations with modelled durations.
func Names() []string {
	return []string{
		"cloneVm", "createSnapshot", "createVm", "destroy", "migrate", "powerOff", "powerOn", "reconfigVm", "registerVm",
		"relocate", "removeAllSnapshots", "removeSnapshot", "reset", "revertToSnapshot", "suspend",
	}
}

// Validate checks the model.
func (t Times) Validate() error {
	for name, mean := range t.Mean {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("no operation %q; known: %v", name, Names())
		}
		if mean < 0 || mean > 24*time.Hour {
			return fmt.Errorf("the time of %s is %v: must be from 0 to 24h", name, mean)
		}
	}
	if !(t.Spread >= 0 && t.Spread <= 10) {
		return fmt.Errorf("the spread of times is %v: must be from 0 to 10", t.Spread)
	}
	return nil
}

// Of is the duration of the n-th operation with a name, which depends on the seed alone.
func (t Times) Of(name string, n uint64) time.Duration {
	mean := t.Mean[name]
	if mean == 0 || t.Spread == 0 {
		return mean
	}
	a, b := Chance(t.Seed, name, 2*n), Chance(t.Seed, name, 2*n+1)
	normal := math.Sqrt(-2*math.Log(a)) * math.Cos(2*math.Pi*b) // Box and Muller 1958
	variance := math.Log1p(t.Spread * t.Spread)
	return time.Duration(float64(mean) * math.Exp(normal*math.Sqrt(variance)-variance/2))
}

// Clock is the time of the tasks.
func (r *Runner) Clock() *clock.Clock { return r.options.Clock }

// Chance is the n-th random number of a name, above 0 and at most 1.
func Chance(seed uint64, name string, n uint64) float64 {
	for _, c := range []byte(name) {
		seed = mix(seed ^ uint64(c))
	}
	return unit(mix(seed + n))
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is a number above 0 and at most 1.
func unit(x uint64) float64 { return (float64(x>>11) + 1) / (1 << 53) }
