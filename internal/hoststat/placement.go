package hoststat

import (
	"cmp"
	"slices"
	"strconv"

	"plimsoll/internal/hoststat/numa"
)

const (
	placeEvery  = 30       // seconds between looks at where the memory of a process lies
	mostPlaced  = 4        // processes looked at in a reading
	mostPlaces  = 8        // beside those in the focus, the largest active ones
	leastPlaced = 64 << 20 // resident memory in bytes of a process worth it
	mostWalked  = 1 << 30  // resident memory in bytes up to which the kernel may walk all pages
)

// place is where the memory of a process lay.
type place struct {
	started, at float64
	memory      []float64
}

// sampler is a Root that tells on which nodes pages of a process are.
type sampler interface {
	NodeShares(pid int, maps []byte) ([]float64, error)
}

// placements finds on which NUMA nodes the memory of the processes in the focus and of the largest
// active ones lies, now and then. Processes keep what was found last.
func (r *Reader) placements(s *State) {
	if len(s.Nodes) < 2 {
		return
	}
	var wanted []*Process
	for i := range s.Processes {
		if p := &s.Processes[i]; p.RSS >= leastPlaced && (p.Detailed || slices.Contains(r.Focus, p.PID)) {
			wanted = append(wanted, p)
		}
	}
	asked := func(p *Process) int { return slices.Index(r.Focus, p.PID) }
	slices.SortFunc(wanted, func(a, b *Process) int {
		return cmp.Or(cmp.Compare(min(0, asked(b)), min(0, asked(a))), cmp.Compare(b.RSS, a.RSS))
	})
	looked := 0
	for _, p := range wanted[:min(len(wanted), len(r.Focus)+mostPlaces)] {
		known := r.places[p.PID]
		if looked < mostPlaced && (known == nil || known.started != p.Started || s.At >= known.at+placeEvery) {
			looked++
			r.places[p.PID] = &place{p.Started, s.At, r.nodeMemory(p)}
		}
	}
	alive := make(map[int]bool, len(r.places))
	for i := range s.Processes {
		p := &s.Processes[i]
		if known := r.places[p.PID]; known != nil && known.started == p.Started {
			p.NodeMemory, alive[p.PID] = known.memory, true
		}
	}
	for pid := range r.places {
		if !alive[pid] {
			delete(r.places, pid)
		}
	}
}

// nodeMemory is the resident memory of a process by node; nil if that cannot be told cheaply.
func (r *Reader) nodeMemory(p *Process) []float64 {
	folder := "proc/" + strconv.Itoa(p.PID) + "/"
	if root, ok := r.root.(sampler); ok {
		if text, err := r.file(folder + "maps"); err == nil {
			if shares, err := root.NodeShares(p.PID, text); err == nil {
				for node := range shares {
					shares[node] *= p.RSS
				}
				return shares
			}
		}
	}
	if p.RSS > mostWalked {
		return nil
	}
	text, err := r.file(folder + "numa_maps")
	if err != nil {
		return nil
	}
	return numa.ParseMaps(text)
}
