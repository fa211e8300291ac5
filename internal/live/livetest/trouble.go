package livetest

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

// OnMove sets the hooks of moves.
func (l *Cluster) OnMove(h Hooks) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hooks = h
}

// MoveBy moves a VM as another balancer would.
func (l *Cluster) MoveBy(by, vm, to string) error {
	l.mu.Lock()
	v, id := l.find(vm), ""
	if v >= 0 && l.findHost(to) >= 0 {
		id = l.vms[v].id
	}
	l.mu.Unlock()
	if id == "" {
		return fmt.Errorf("move %s to %s: no such VM or host", vm, to)
	}
	return l.arrive(id, to, by)
}

// Delete removes a VM, whatever it is doing.
func (l *Cluster) Delete(vm string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.find(vm)
	if v < 0 {
		return
	}
	l.vms = slices.Delete(slices.Clone(l.vms), v, v+1)
	l.change(&live.Event{Kind: live.VMRemoved, VM: vm, By: "operator"}, func(c *cluster.Cluster) {
		c.VMs = slices.Delete(c.VMs, v, v+1)
		for r := range c.Rules {
			var left []cluster.VMID
			for _, id := range c.Rules[r].VMs {
				switch {
				case id < cluster.VMID(v):
					left = append(left, id)
				case id > cluster.VMID(v):
					left = append(left, id-1)
				}
			}
			c.Rules[r].VMs = left
		}
	})
}

// Add adds a VM, whose name may be a duplicate: both then have their identifiers in the model.
func (l *Cluster) Add(vm cluster.VM) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vms = append(slices.Clip(l.vms), l.entity(vm.Name))
	l.change(&live.Event{Kind: live.VMAdded, VM: vm.Name, By: "operator"}, func(c *cluster.Cluster) { c.VMs = append(c.VMs, vm) })
}

// SetState changes the state of a host.
func (l *Cluster) SetState(host string, state cluster.HostState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.findHost(host); h >= 0 {
		l.setState(h, state, "operator")
	}
}

// Edit changes anything except the list of VMs and their names, such as rules, settings and
// demand. The function must replace what it changes below the lists.
func (l *Cluster) Edit(how func(*cluster.Cluster)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change(nil, how)
}

// Lose disconnects the control plane: sources report that, and requests fail. Moves in
// progress end without a report.
func (l *Cluster) Lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lost {
		l.change(&live.Event{Kind: live.ControlLost, Text: errLost.Error()}, func(*cluster.Cluster) {})
		l.lost = true
	}
}

// Return reconnects the control plane, with the events since.
func (l *Cluster) Return() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		l.lost = false
		l.change(&live.Event{Kind: live.ControlBack}, func(*cluster.Cluster) {})
		l.events = append(l.events, l.hidden...)
		l.hidden = nil
	}
}

// Mute hides changes from running watches, or reports them again from the next one on.
func (l *Cluster) Mute(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.muted = on
}

// Deny revokes a privilege for an action.
func (l *Cluster) Deny(a live.Action, privilege string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.denied[a] = append(l.denied[a], privilege)
}
