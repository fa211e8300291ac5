package storage

import (
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	leastAmplified = 4    // bytes to devices for each byte that programs wrote: double writes and a journal of data explain up to 3
	leastExtra     = 4e6  // bytes per second to devices
	seen           = 0.5  // share of the pages dirtied on the host that programs account for
	mapping        = 0.01 // bytes of write calls for each byte dirtied, below which a program writes by memory maps or asynchronously
)

// writeAmplification finds devices that write far more than programs wrote, while programs wait for
// them. Dirty pages from before look alike, so their decrease is subtracted; writers that were not
// seen do as well, so the dirty pages of the host must be accounted for.
var writeAmplification = diagnosis.Rule{
	Name: "write_amplification", Area: diagnosis.Storage,
	Doc:   "block devices write far more than programs wrote",
	Needs: []string{"disks", "processes", "memory", "vmstat"},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		written := 0.
		for _, d := range tops(e) {
			written += d.WriteBytes
		}
		written -= e.Mean.VM["pswpout"]*pageSize + drained(e)
		asked, dirtied := 0., 0.
		for _, p := range e.Services() {
			io := p.IO()
			dirtied += io.WriteBytes
			if io.WriteChars < mapping*io.WriteBytes {
				asked += io.WriteBytes
			} else {
				asked += min(io.WriteChars, io.WriteBytes)
			}
		}
		waiting := slices.DeleteFunc(waiters(e), func(w waiter) bool { return w.io.WriteBytes <= w.io.ReadBytes })
		if asked <= 0 || written < leastExtra || written < leastAmplified*asked || len(waiting) == 0 || dirtied < seen*e.Mean.VM["nr_dirtied"]*pageSize {
			return nil
		}
		w, times := waiting[0], written/asked
		says := "Devices write {written}, {times} times the {asked} that programs wrote; {subject} waits {waiting} of its time for storage."
		change := &diagnosis.Change{Says: "write less often and in larger pieces: commit in groups, and check journals of data (ext4 data=journal) and double writes of databases"}
		if dirtied > 2*asked {
			change.Says = "write in whole pages of 4 KiB or in sequence: small random writes make whole pages dirty"
		}
		return []diagnosis.Finding{{
			Subject:    w.Subject(),
			Confidence: diagnosis.Likely,
			Impact:     w.cost * (1 - 1/times),
			Says:       says,
			Evidence: []diagnosis.Fact{
				diagnosis.ByteRate("written", written), diagnosis.Number("times", times), diagnosis.ByteRate("asked", asked),
				diagnosis.ByteRate("dirtied", dirtied), diagnosis.Share("waiting", w.cost),
			},
			Change: change,
		}}
	},
}

// tops are the active devices that no other one lies on. A loop device writes to the file system of
// another one, which counts.
func tops(e *diagnosis.Evidence) (all []*hoststat.Disk) {
	below := map[string]bool{}
	for name, d := range e.Facts.Disks {
		for _, under := range d.Below {
			below[under] = below[under] || !strings.HasPrefix(name, "loop") && disk(e.Mean, name) != nil
		}
	}
	for n := range e.Mean.Disks {
		d := &e.Mean.Disks[n]
		if !below[d.Name] && !strings.HasPrefix(d.Name, "loop") && !strings.HasPrefix(d.Name, "zram") {
			all = append(all, d)
		}
	}
	return all
}

// drained is the rate at which dirty pages became fewer over the series.
func drained(e *diagnosis.Evidence) float64 {
	if len(e.Intervals) < 2 {
		return 0
	}
	dirty := func(i *hoststat.Interval) float64 { return i.Memory["Dirty"] + i.Memory["Writeback"] }
	first, last := &e.Intervals[0], &e.Intervals[len(e.Intervals)-1]
	return max(0, dirty(first)-dirty(last)) / max(1, e.Mean.Seconds)
}
