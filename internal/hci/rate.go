package hci

import "math"

// Rough CPU time of a cluster with two copies and its client for an operation, in µs, from which a search starts: those of 4 KiB fit easy runs on x86-64, those of
// 512 KiB are estimates.
const (
	readCPU       = 200
	writeCPU      = 1000
	largeReadCPU  = 1000
	largeWriteCPU = 5000
	within        = 4 // a search starts at one part of the rate that would take all CPUs: less than that keeps a latency target
)

// from is the rate at which the search for a peak starts, for a cluster with so many CPUs, in two digits.
func (j job) from(cores int) int {
	reads, writes := readCPU, writeCPU
	if j.block == 0 {
		reads, writes = largeReadCPU, largeWriteCPU
	}
	each := j.read*reads + (100-j.read)*writes // of 100 operations
	rate := float64(max(1, cores)) * 1e8 / float64(each) / within
	unit := math.Pow(10, math.Max(0, math.Floor(math.Log10(rate))-1))
	return int(math.Round(rate/unit) * unit)
}

// DeviceOperations is how many operations of disks an operation of the job takes at least, if a write is one on each copy.
func (j Job) DeviceOperations(copies float64) float64 {
	reads := float64(j.Reads) / 100
	return reads + (1-reads)*max(1, copies)
}
