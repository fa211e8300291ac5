package advice

import "fmt"

// Value is the benefit and the cost of a move for load balance in MHz times seconds: demand
// served in addition, and CPU time used by the migration.
type Value struct {
	Gain   int64 // while the load is stable
	Risk   int64 // afterwards, if the VM then demands its maximum; usually negative
	Cost   int64 // copying the memory, on both hosts, and the delay of the VM itself
	Stable int64 // seconds for which the load is expected to be stable
	Copy   int64 // seconds to copy; 0 if the copy never ends
}

// Net is the benefit minus the cost.
func (v Value) Net() int64 { return v.Gain + v.Risk - v.Cost }

// String is the sum as text.
func (v Value) String() string {
	return fmt.Sprintf("gain %d GHz·s in %d s, risk %d, cost %d (copy of %d s)", v.Gain/1000, v.Stable, v.Risk/1000, v.Cost/1000, v.Copy)
}

// Points converts a share in millionths to percent.
func Points(v int64) float64 { return float64(v) / 10_000 }
