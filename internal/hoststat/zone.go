package hoststat

import (
	"bytes"
	"os"

	"plimsoll/internal/hoststat/parse"
)

// Zone is a zone of memory of a NUMA node. All are gauges, in bytes.
type Zone struct {
	Node    int     `json:"node"`
	Name    string  `json:"name"`
	Managed float64 `json:"managed"`
	Free    float64 `json:"free"`
	Low     float64 `json:"low"`    // free memory below which the kernel reclaims
	High    float64 `json:"high"`   // and up to which it does
	Blocks  float64 `json:"blocks"` // free memory in blocks of the size of a huge page and more
}

const (
	zonesEvery = 4.5 // seconds between two readings at least: the file grows with the CPUs
	zonesStay  = 10  // seconds for which what was read holds
	mostZones  = 4096
)

// zones is the last reading of zones, and the allocations that had waited by the last reading.
type zones struct {
	at      float64
	all     []Zone
	stalls  float64
	counted bool
}

// stalls are the allocations that freed or moved memory themselves before they went on.
func stalls(vm map[string]float64) float64 {
	sum := vm["compact_stall"] + vm["allocstall"]
	for _, zone := range []string{"dma", "dma32", "normal", "movable", "high", "device"} {
		sum += vm["allocstall_"+zone]
	}
	return sum
}

// readZones reads /proc/zoneinfo and /proc/buddyinfo if allocations waited since the last reading:
// they tell where, and why.
func readZones(r *Reader, s *State) error {
	z, now := &r.zones, stalls(s.VM)
	waited := z.counted && now > z.stalls
	z.stalls, z.counted = now, true
	if waited && (z.all == nil || s.At >= z.at+zonesEvery) {
		text, err := r.file("proc/zoneinfo")
		if err != nil {
			return err
		}
		z.at, z.all = s.At, parseZones(text)
		if text, err = r.file("proc/buddyinfo"); err == nil {
			parseBlocks(text, z.all, s.Memory["Hugepagesize"])
		}
	}
	if z.all != nil && s.At < z.at+zonesStay {
		s.Zones = z.all
	}
	return nil
}

// parseZones parses /proc/zoneinfo: the counts of pages of each zone with memory.
func parseZones(text []byte) (all []Zone) {
	page := float64(os.Getpagesize())
	var zone *Zone
	for line := range bytes.Lines(text) {
		if node, name, _, ok := zoneOf(line); ok {
			if zone = nil; len(all) < mostZones {
				all = append(all, Zone{Node: node, Name: name})
				zone = &all[len(all)-1]
			}
			continue
		}
		if zone == nil {
			continue
		}
		f := bytes.Fields(line)
		if len(f) == 3 && string(f[0]) == "pages" {
			f = f[1:]
		}
		if len(f) != 2 {
			continue
		}
		n, ok := parse.Number(f[1])
		if !ok {
			continue
		}
		switch string(f[0]) {
		case "free":
			zone.Free = n * page
		case "low":
			zone.Low = n * page
		case "high":
			zone.High = n * page
		case "managed":
			zone.Managed = n * page
		}
	}
	return all
}

// parseBlocks parses /proc/buddyinfo: free blocks of 1, 2, 4, ... pages.
func parseBlocks(text []byte, all []Zone, huge float64) {
	for line := range bytes.Lines(text) {
		node, name, rest, ok := zoneOf(line)
		at := index(all, func(z *Zone) bool { return z.Node == node && z.Name == name })
		if !ok || at == nil {
			continue
		}
		size := float64(os.Getpagesize())
		for _, blocks := range parse.Numbers(nil, rest) {
			if size >= huge && huge > 0 {
				at.Blocks += blocks * size
			}
			size *= 2
		}
	}
}

// zoneOf parses the beginning of a line: "Node 0, zone   Normal ...".
func zoneOf(line []byte) (node int, name string, rest []byte, ok bool) {
	after, found := bytes.CutPrefix(line, []byte("Node "))
	number, after, comma := bytes.Cut(after, []byte(", zone"))
	n, known := parse.Number(number)
	if !found || !comma || !known || n >= mostNodes {
		return 0, "", nil, false
	}
	after = bytes.TrimSpace(after)
	word, rest, _ := bytes.Cut(after, []byte(" "))
	return int(n), string(word), rest, true
}
