package advice

import "fmt"

// Value is the benefit and the cost of a move for load balance, in MHz times seconds: work
// that is served, and work that the move needs.
type Value struct {
	Gain   int64 // while the load is stable
	Risk   int64 // afterwards, if the VM then demands its maximum; usually negative
	Cost   int64 // of copying the memory on both hosts and of the VM's own delay
	Stable int64 // seconds for which the load is expected to be stable
	Copy   int64 // seconds that the copy takes; 0 when it never ends
}

// Net is the benefit minus the cost.
func (v Value) Net() int64 { return v.Gain + v.Risk - v.Cost }

// String is the sum for people.
func (v Value) String() string {
	return fmt.Sprintf("gain %d GHz·s in %d s, risk %d, cost %d (copy of %d s)", v.Gain/1000, v.Stable, v.Risk/1000, v.Cost/1000, v.Copy)
}

// Points is a share in millionths as percent.
func Points(v int64) float64 { return float64(v) / 10_000 }
