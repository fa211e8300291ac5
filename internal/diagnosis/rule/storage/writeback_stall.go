package storage

import (
	"fmt"
	"strconv"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	// shortBuffer is the time, in seconds of the device's writes, that a threshold of dirty pages
	// must hold: with less, writers and the device take turns.
	shortBuffer = 2
	// usualRatio is a share of memory for dirty pages, in percent, that nobody made small; the
	// kernel's default is 20.
	usualRatio = 10
)

// dirtying are the kernel functions in which writers wait for dirty pages to be written.
var dirtying = []string{"balance_dirty", "wait_on_page_writeback", "rq_qos_wait", "wbt_wait"}

// writebackStall finds writers that wait because dirty pages have reached their threshold, where
// the threshold is small or another program's pages fill it. A bulk writer that is as fast as its
// disk looks alike: under a usual threshold it waits for the disk.
var writebackStall = diagnosis.Rule{
	Name: "writeback_stall", Area: diagnosis.Storage,
	Doc:      "writers wait because too many dirty pages are not written yet",
	Needs:    []string{"disks", "processes", "memory", "vmstat"},
	Explains: []string{"disk_neighbour", "device_ceiling", "queue_depth_low", "periodic_stall", "write_amplification"},
	Check: sometimesToo(func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		threshold := e.Mean.Memory[hoststat.DirtyThreshold]
		free := (threshold + e.Mean.Memory[hoststat.DirtyBackground]) / 2 // below it the kernel lets writers go: dirty_freerun_ceiling in mm/page-writeback.c
		near := e.Times(func(i *hoststat.Interval) bool { return i.Memory["Dirty"]+i.Memory["Writeback"] >= atLimit*free })
		if threshold == 0 {
			return nil
		}
		written := 0.
		for _, d := range lowest(e) {
			written += d.WriteBytes
		}
		tiny := small(e) && threshold < shortBuffer*max(written, e.Mean.VM["nr_dirtied"]*pageSize)
		for _, w := range waiters(e) {
			waiting, confidence := w.io.In(dirtying...), diagnosis.Certain
			if waiting < leastWait && near >= sometimes && w.io.WriteBytes > 2*w.io.ReadBytes {
				waiting, confidence = w.io.Blocked, diagnosis.Likely
			}
			other := bulk(e, w)
			cost := w.Costs(waiting)
			if cost < leastCost/2 || !tiny && other == nil {
				continue
			}
			f := diagnosis.Finding{
				Subject:    w.Subject(),
				Confidence: confidence,
				Impact:     cost,
				Says:       "{subject} waits {waiting} of its time until dirty pages are written: the kernel lets writers wait from {threshold} of them on.",
				Evidence: []diagnosis.Fact{
					diagnosis.Share("waiting", cost), diagnosis.Bytes("threshold", threshold), diagnosis.Bytes("dirty", e.Mean.Memory["Dirty"]),
					diagnosis.ByteRate("dirtied", e.Mean.VM["nr_dirtied"]*pageSize), diagnosis.ByteRate("written", written),
				},
			}
			if tiny {
				all := cost / (1 - min(0.95, cost))
				f.Change = &diagnosis.Change{Says: "raise the threshold of dirty pages to the kernel's default (vm.dirty_ratio and vm.dirty_bytes exclude each other)", Command: "sysctl vm.dirty_background_ratio=10 vm.dirty_ratio=20"}
				f.Prediction = &diagnosis.Prediction{Low: 0, High: all, Of: "throughput", Basis: "the time that writers wait; bounded by the disk in the long run"}
			} else {
				f.Says += " Most of them are of " + other.Subject() + "."
				f.Change = &diagnosis.Change{Says: "limit the writes of " + other.Subject() + ", or let the kernel begin to write earlier", Command: fmt.Sprintf("sysctl vm.dirty_background_bytes=%.0f", max(64<<20, written))}
			}
			found = append(found, f)
			break
		}
		return found
	}),
}

// small reports whether a setting makes the threshold smaller than usual.
func small(e *diagnosis.Evidence) bool {
	bytes, _ := strconv.ParseFloat(e.Setting("proc/sys/vm/dirty_bytes"), 64)
	ratio, err := strconv.ParseFloat(e.Setting("proc/sys/vm/dirty_ratio"), 64)
	return bytes > 0 || err == nil && ratio < usualRatio && ratio > 0
}

// bulk is another program that dirties most pages; nil if there is none.
func bulk(e *diagnosis.Evidence, w waiter) *diagnosis.Program {
	all := diagnosis.By(e.Services(), func(p *diagnosis.Program) float64 { io := p.IO(); return io.WriteBytes })
	if len(all) == 0 || all[0].Subject() == w.Subject() {
		return nil
	}
	if io := all[0].IO(); io.WriteBytes < quietTo*w.io.WriteBytes {
		return nil
	}
	return all[0]
}

const pageSize = 4096 // bytes of a base page; larger ones make the rates here too small
