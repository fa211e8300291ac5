package apply

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/migrate"
)

// order decides which change can begin next. A change waits for earlier changes of its VM, for
// those that leave its target host, and for those of the same rule that keeps VMs together.
// Other orders violate nothing that the plan's own does not: hosts only have fewer VMs
// meanwhile.
type order struct {
	changes []Change
	begun   []bool
	over    []bool
	waits   []int   // by index in the plan: number of earlier changes that it waits for
	blocks  [][]int // later changes that wait for it
	busy    map[string]int
	most    map[string]int // concurrent moves of a host
}

func newOrder(a Applier, p Plan) order {
	n := len(p.Changes)
	s := order{changes: p.Changes, begun: make([]bool, n), over: make([]bool, n), waits: make([]int, n), blocks: make([][]int, n), busy: map[string]int{}, most: map[string]int{}}
	limits := migrate.Limits{Host: a.Connection.MostMoves}
	for h := range p.Seen.Hosts {
		host := &p.Seen.Hosts[h]
		s.most[host.Name] = min(max(1, a.Parallel), limits.Of(host))
	}
	together := bound(p.Seen)
	for i := range p.Changes {
		for j := range i {
			if depends(&p.Changes[i], &p.Changes[j], together) {
				s.waits[i]++
				s.blocks[j] = append(s.blocks[j], i)
			}
		}
	}
	return s
}

// bound is, by VM, the rules that keep it together with others.
func bound(c *cluster.Cluster) map[string]map[int]bool {
	out := map[string]map[int]bool{}
	for r := range c.Rules {
		if c.Rules[r].Kind != cluster.Together || c.Rules[r].Disabled {
			continue
		}
		for _, v := range c.Rules[r].VMs {
			name := c.VMs[v].Name
			if out[name] == nil {
				out[name] = map[int]bool{}
			}
			out[name][r] = true
		}
	}
	return out
}

// depends reports whether a change must wait for an earlier one.
func depends(later, earlier *Change, together map[string]map[int]bool) bool {
	switch {
	case !later.places() || !earlier.places():
		return true
	case later.VM == earlier.VM, later.To != "" && later.To == earlier.From:
		return true
	case later.Step == earlier.Step:
		return false
	}
	for r := range together[later.VM] {
		if together[earlier.VM][r] {
			return true
		}
	}
	return false
}

// next is the index of the first change that can begin now; -1 if there is none.
func (s *order) next() int {
	for i := range s.changes {
		c := &s.changes[i]
		if !s.begun[i] && s.waits[i] == 0 && (!c.places() || s.free(c.From) && s.free(c.To)) {
			return i
		}
	}
	return -1
}

func (s *order) free(host string) bool {
	most, known := s.most[host] // a VM that is off has no host
	return !known || s.busy[host] < most
}

func (s *order) begin(i int) {
	s.begun[i] = true
	s.count(i, 1)
}

func (s *order) end(i int) {
	s.over[i] = true
	s.count(i, -1)
	for _, later := range s.blocks[i] {
		s.waits[later]--
	}
}

func (s *order) count(i, by int) {
	if c := &s.changes[i]; c.places() {
		s.busy[c.From] += by
		s.busy[c.To] += by
	}
}

// unmade reports whether a change has not ended.
func (s *order) unmade() bool {
	for _, over := range s.over {
		if !over {
			return true
		}
	}
	return false
}

// left are the changes that have not begun, in the plan's order.
func (s *order) left() (list []Change) {
	for i, c := range s.changes {
		if !s.begun[i] {
			list = append(list, c)
		}
	}
	return list
}

// open are the steps with unfinished and begun changes, and the targets of their moves, by VM:
// rules may be violated before a step is complete.
func (s *order) open(step int) map[string]string {
	begun := map[int]bool{step: true}
	for i, c := range s.changes {
		if s.begun[i] && c.places() {
			begun[c.Step] = true
		}
	}
	to := map[string]string{}
	for i, c := range s.changes {
		if c.places() && !s.over[i] && begun[c.Step] {
			to[c.VM] = c.To
		}
	}
	return to
}
