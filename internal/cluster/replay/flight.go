package replay

import (
	"slices"

	"plimsoll/internal/cluster"
)

// flight is a VM in migration. It runs on the source until the last byte is copied.
type flight struct {
	vm       cluster.VMID
	from, to cluster.HostID
	left     int64 // bytes left to copy
	began    int64
	reason   string
}

// flights are the moves in progress.
type flights struct {
	list []flight
	of   []int32 // by VM: its flight, or -1
}

func newFlights(vms int) flights {
	f := flights{of: make([]int32, vms)}
	for v := range f.of {
		f.of[v] = -1
	}
	return f
}

func (s *flights) add(f flight) {
	s.of[f.vm] = int32(len(s.list))
	s.list = append(s.list, f)
}

func (s *flights) remove(i int) {
	s.of[s.list[i].vm] = -1
	s.list = slices.Delete(s.list, i, i+1)
	for k := i; k < len(s.list); k++ {
		s.of[s.list[k].vm] = int32(k)
	}
}

// moving is the number of moves in progress on a host.
func (s *flights) moving(h cluster.HostID) int {
	n := 0
	for i := range s.list {
		if s.list[i].from == h || s.list[i].to == h {
			n++
		}
	}
	return n
}

// start starts queued steps that can start now. Steps that would violate a hard constraint are
// dropped; those that only wait for others stay queued.
func (w *world) start() {
	rest := w.queue[:0]
	for len(w.queue) > 0 {
		n := 1
		for n < len(w.queue) && w.queue[n].Number == w.queue[0].Number && w.queue[0].Number != 0 {
			n++
		}
		group := w.queue[:n]
		w.queue = w.queue[n:]
		answer := w.can(group)
		if answer == never && len(w.flights.list)+len(rest) > 0 {
			answer = later // the obstacle may be leaving
		}
		switch answer {
		case yes:
			for _, s := range group {
				w.launch(s)
			}
		case later:
			rest = append(rest, group...)
		case never:
			w.out.Refused += len(group)
		}
	}
	w.queue = rest
}

type answer uint8

const (
	yes answer = iota
	later
	never
)

// can reports whether steps that belong together may start.
func (w *world) can(group []Step) answer {
	out := yes
	for i, s := range group {
		from := w.c.VMs[s.VM].Host
		if !w.due[s.VM] || from == s.To || from != cluster.Nowhere && w.hidden(from) {
			return never
		}
		for k, o := range group {
			// The leaving VM is still on the host when the other arrives.
			if w.c.VMs[o.VM].Host == s.To || k != i && o.VM == s.VM {
				return never
			}
		}
		switch {
		case w.flights.of[s.VM] >= 0 || w.busy(s.To) || w.running(s.VM) && w.busy(from), w.boots[s.VM] > w.now:
			out = later
		case w.held(s):
			out = later // a VM that leaves the target is still there
		}
	}
	if !w.fits(group) {
		return never
	}
	return out
}

// fits reports whether steps violate no hard constraint after all moves.
func (w *world) fits(group []Step) bool {
	was := make([]cluster.HostID, len(group))
	for i, s := range group {
		was[i] = w.l.Host(s.VM)
		w.l.Move(s.VM, cluster.Nowhere)
	}
	fine := true
	for i, s := range group {
		// A VM that already violates a rule about hosts may violate it on the next host too.
		fine = fine && (w.l.Obstacle(s.VM, s.To).Check == cluster.Fine || was[i] != cluster.Nowhere && w.l.Passing(s.VM, was[i], s.To).Check == cluster.Fine)
		w.l.Move(s.VM, s.To)
	}
	for i, s := range group {
		w.l.Move(s.VM, was[i])
	}
	return fine
}

// held reports whether VMs that are leaving the target block a step: by their reservations,
// or by rules.
func (w *world) held(s Step) bool {
	reserved, all := w.l.Reserved(s.To).Plus(w.x.Reserved(s.VM)), w.x.Capacity(s.To)
	for i := range w.flights.list {
		f := &w.flights.list[i]
		if f.from != s.To {
			continue
		}
		reserved = reserved.Plus(w.x.Reserved(f.vm))
		for _, r := range w.x.Rules(s.VM) {
			if rule := &w.c.Rules[r]; rule.Must && rule.Kind == cluster.Apart && slices.Contains(rule.VMs, f.vm) {
				return true
			}
		}
	}
	return !reserved.Fits(all)
}

func (w *world) running(v cluster.VMID) bool {
	h := w.c.VMs[v].Host
	return h != cluster.Nowhere && w.c.Hosts[h].Runs()
}

// busy reports whether a host has reached its maximum of concurrent moves.
//
// Source: Denneman, "Limiting the number of concurrent vMotions": eight on a network of 10
// Gbit/s, four below.
func (w *world) busy(h cluster.HostID) bool {
	most := 8
	if w.c.Hosts[h].NIC < 10_000_000_000 {
		most = 4
	}
	return w.flights.moving(h) >= most
}

// launch starts a step: a running VM begins to move, another boots.
func (w *world) launch(s Step) {
	vm := &w.c.VMs[s.VM]
	w.changed = true
	w.l.Move(s.VM, s.To)
	if !w.running(s.VM) {
		w.out.Log = append(w.out.Log, Entry{At: w.now, VM: s.VM, From: cluster.Nowhere, To: s.To, Reason: s.Reason, Took: booting})
		vm.Host, vm.Waiting, w.boots[s.VM] = s.To, false, w.now+booting
		w.left[s.VM].from = cluster.Nowhere
		return
	}
	w.flights.add(flight{vm: s.VM, from: vm.Host, to: s.To, left: vm.Memory, began: w.now, reason: s.Reason})
}

// arrive ends moves whose last byte is copied, and aborts those that take too long.
func (w *world) arrive() {
	for v, at := range w.boots {
		if at > 0 && at <= w.now {
			w.boots[v] = 0
		}
	}
	for i := len(w.flights.list) - 1; i >= 0; i-- {
		f := w.flights.list[i]
		if f.left > 0 {
			if w.now-f.began >= patience {
				w.abort(i)
			}
			continue
		}
		w.flights.remove(i)
		w.land(f)
	}
}

func (w *world) land(f flight) {
	w.c.VMs[f.vm].Host = f.to
	w.changed = true
	w.out.Moves++
	if w.now > w.end*2/3 {
		w.out.Late++
	}
	forced := w.c.Hosts[f.from].State != cluster.Connected
	if d := w.left[f.vm]; d.from == f.to && w.now-d.at < flapping && !forced && !d.forced {
		w.out.Flaps++
	}
	w.left[f.vm] = departure{f.from, w.now, forced}
	w.out.Log = append(w.out.Log, Entry{At: f.began, VM: f.vm, From: f.from, To: f.to, Reason: f.reason, Took: w.now - f.began})
}

// abort aborts a move: the VM stays on its host.
func (w *world) abort(i int) {
	f := w.flights.list[i]
	w.flights.remove(i)
	w.out.Aborted++
	w.changed = true
	w.l.Move(f.vm, f.from)
}

// drop cancels queued and current moves of a deleted VM.
func (w *world) drop(v cluster.VMID) {
	if k := w.flights.of[v]; k >= 0 {
		w.flights.remove(int(k))
	}
	w.boots[v] = 0
}
