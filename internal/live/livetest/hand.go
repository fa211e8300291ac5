package livetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

// errLost is the error of requests without a control plane.
var errLost = errors.New("no answer from the control plane")

// hand changes the cluster.
type hand struct{ l *Cluster }

// Missing implements live.Hand.
func (h hand) Missing(_ context.Context, a live.Action) ([]string, error) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	if h.l.lost {
		return nil, errLost
	}
	return slices.Clone(h.l.denied[a]), nil
}

// Move implements live.Hand.
func (h hand) Move(ctx context.Context, vm, to string) error {
	id, hooks, err := h.begin(vm, to)
	if err != nil {
		return fmt.Errorf("move %s to %s: %w", vm, to, err)
	}
	err = h.carry(ctx, hooks, [3]string{id, vm, to})
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	delete(h.l.moving, id)
	switch {
	case err != nil:
		return fmt.Errorf("move %s to %s: %w", vm, to, err)
	case h.l.lost:
		return fmt.Errorf("move %s to %s: %w", vm, to, errLost)
	}
	return nil
}

// begin checks a move before anything is changed.
func (h hand) begin(vm, to string) (id string, hooks Hooks, err error) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	v, host := h.l.find(vm), h.l.findHost(to)
	switch {
	case h.l.lost:
		return "", hooks, errLost
	case len(h.l.denied[live.Move]) > 0:
		return "", hooks, fmt.Errorf("permission denied: %s", h.l.denied[live.Move][0])
	case v < 0:
		return "", hooks, errors.New("no such VM")
	case host < 0:
		return "", hooks, errors.New("no such host")
	case !h.l.now.Hosts[host].Usable():
		return "", hooks, errors.New("the host " + h.l.now.Hosts[host].State.Said())
	case h.l.moving[h.l.vms[v].id]:
		return "", hooks, errors.New("another migration of the VM is in progress")
	}
	id = h.l.vms[v].id
	h.l.moving[id] = true
	return id, h.l.hooks, nil
}

// carry completes a move that has begun: of the VM with an identifier and a name, to a host.
func (h hand) carry(ctx context.Context, hooks Hooks, move [3]string) error {
	id, vm, to := move[0], move[1], move[2]
	if hooks.Before != nil {
		if err := hooks.Before(ctx, vm, to); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cancelled: %w", err)
	}
	if err := h.l.arrive(id, to, h.l.account); err != nil {
		return err
	}
	if hooks.After != nil {
		return hooks.After(vm, to)
	}
	return nil
}

// arrive assigns a VM to a host.
func (l *Cluster) arrive(id, to, by string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, host := slices.IndexFunc(l.vms, func(e entity) bool { return e.id == id }), l.findHost(to)
	if v < 0 {
		return errors.New("the VM was deleted during the migration")
	}
	if !l.now.Hosts[host].Usable() {
		return errors.New("the host " + l.now.Hosts[host].State.Said())
	}
	e := &live.Event{Kind: live.VMMoved, VM: l.now.VMs[v].Name, Host: to, By: by, Text: "migrated"}
	if from := l.now.VMs[v].Host; from != cluster.Nowhere {
		e.From = l.now.Hosts[from].Name
	}
	l.change(e, func(c *cluster.Cluster) { c.VMs[v].Host = host })
	return nil
}

// Power implements live.Hand.
func (h hand) Power(ctx context.Context, vm, on string) error {
	if err := h.power(ctx, vm, on); err != nil {
		return fmt.Errorf("power of %s: %w", vm, err)
	}
	return nil
}

func (h hand) power(ctx context.Context, vm, on string) error {
	l := h.l
	l.mu.Lock()
	defer l.mu.Unlock()
	v, host := l.find(vm), l.findHost(on)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case l.lost:
		return errLost
	case len(l.denied[live.Power]) > 0:
		return fmt.Errorf("permission denied: %s", l.denied[live.Power][0])
	case v < 0:
		return errors.New("no such VM")
	case on != "" && (host < 0 || !l.now.Hosts[host].Usable()):
		return errors.New("no such host, or it cannot be used")
	case on == "" && l.now.VMs[v].Host == cluster.Nowhere || on != "" && l.now.VMs[v].Host == host:
		return nil
	case on == "":
		from := l.now.Hosts[l.now.VMs[v].Host].Name
		l.change(&live.Event{Kind: live.VMStopped, VM: vm, Host: from, By: l.account}, func(c *cluster.Cluster) { c.VMs[v].Host = cluster.Nowhere })
		return nil
	case l.now.VMs[v].Host != cluster.Nowhere:
		return fmt.Errorf("it runs on %s", l.now.Hosts[l.now.VMs[v].Host].Name)
	}
	l.change(&live.Event{Kind: live.VMStarted, VM: vm, Host: on, By: l.account}, func(c *cluster.Cluster) { c.VMs[v].Host = host })
	return nil
}

// Maintain implements live.Hand.
func (h hand) Maintain(ctx context.Context, host string, enter bool) error {
	l := h.l
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.findHost(host)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("maintenance of %s: %w", host, ctx.Err())
	case l.lost:
		return fmt.Errorf("maintenance of %s: %w", host, errLost)
	case len(l.denied[live.Maintain]) > 0:
		return fmt.Errorf("maintenance of %s: permission denied: %s", host, l.denied[live.Maintain][0])
	case at < 0:
		return fmt.Errorf("maintenance of %s: no such host", host)
	}
	if enter && slices.ContainsFunc(l.now.VMs, func(v cluster.VM) bool { return v.Host == at }) {
		return fmt.Errorf("maintenance of %s: VMs run on it", host)
	}
	state := cluster.Connected
	if enter {
		state = cluster.Maintenance
	}
	l.setState(at, state, l.account)
	return nil
}

// setState changes the state of a host. The lock is held.
func (l *Cluster) setState(h cluster.HostID, state cluster.HostState, by string) {
	was := l.now.Hosts[h].State
	if was == state {
		return
	}
	e := &live.Event{Kind: live.HostChanged, Host: l.now.Hosts[h].Name, By: by, Text: fmt.Sprintf("from %s to %s", was, state)}
	l.change(e, func(c *cluster.Cluster) { c.Hosts[h].State = state })
}
