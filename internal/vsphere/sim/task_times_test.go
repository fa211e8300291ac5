package sim_test

import (
	"math"
	"testing"
	"time"

	"plimsoll/internal/vsphere/sim/task"
)

func TestTimesHaveTheirMeanAndSpread(t *testing.T) {
	t.Parallel()
	times := task.Times{Seed: 3, Mean: map[string]time.Duration{"powerOn": time.Second}, Spread: .5}
	const n = 20000
	var sum, squares float64
	for i := range uint64(n) {
		x := times.Of("powerOn", i).Seconds()
		sum, squares = sum+x, squares+x*x
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean-1) > .02 || math.Abs(deviation-.5) > .03 {
		t.Errorf("mean %.3f s and deviation %.3f s, want 1 and 0.5", mean, deviation)
	}
	if again := (task.Times{Seed: 3, Mean: times.Mean, Spread: .5}); again.Of("powerOn", 7) != times.Of("powerOn", 7) {
		t.Error("the same seed gives another time")
	}
	if other := (task.Times{Seed: 4, Mean: times.Mean, Spread: .5}); other.Of("powerOn", 7) == times.Of("powerOn", 7) {
		t.Error("another seed gives the same time")
	}
	if times.Of("suspend", 1) != 0 {
		t.Error("an operation without a time takes some")
	}
}
