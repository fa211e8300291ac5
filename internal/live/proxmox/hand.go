package proxmox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
	"plimsoll/internal/proxmox"
)

// hand changes the cluster.
type hand struct{ source *source }

// Move implements live.Hand.
func (h *hand) Move(ctx context.Context, vm, to string) error {
	if err := h.move(ctx, vm, to); err != nil {
		return fmt.Errorf("move %s to %s: %w", vm, to, err)
	}
	return nil
}

func (h *hand) move(ctx context.Context, vm, to string) error {
	v, err := h.source.look(ctx)
	if err != nil {
		return err
	}
	if !v.quorate {
		return errors.New("the cluster has no quorum: it refuses every change")
	}
	if state, there := v.states[to]; !there {
		return errors.New("no such node")
	} else if state != cluster.Connected {
		return fmt.Errorf("the node is in %s", state)
	}
	for id, s := range v.seats {
		if s.name == vm {
			if s.node == to {
				return nil
			}
			return h.migrate(ctx, v.guests[id], s, to)
		}
	}
	return errors.New("no such VM")
}

func (h *hand) migrate(ctx context.Context, g *guest, s placement, to string) error {
	if g.Lock != "" {
		return fmt.Errorf("the VM is locked (%s): wait until that has ended, or remove a stale lock with qm unlock %d", g.Lock, g.id)
	}
	c := h.source.client
	o, err := c.Obstacles(ctx, s.node, g.id)
	if err != nil {
		return err
	}
	if len(o.LocalResources) > 0 {
		return fmt.Errorf("it uses devices of its node: %s", strings.Join(o.LocalResources, ", "))
	}
	if len(o.LocalDisks) > 0 {
		return fmt.Errorf("it has a disk on storage that is not shared: %s", o.LocalDisks[0].Volume)
	}
	u, err := c.Migrate(ctx, proxmox.Migration{Node: s.node, VMID: g.id, Target: to, Online: s.runs})
	if err != nil {
		return err
	}
	if err := c.Await(ctx, u); err != nil {
		return err
	}
	return h.arrived(ctx, g.id, s, to)
}

// The HA manager migrates a VM under its control some time after the request: it works in
// rounds of ten seconds.
const (
	lookAgain = 500 * time.Millisecond
	rounds    = 60 * time.Second // until the migration must have started
)

// arrived waits until the cluster lists the VM on its new node.
func (h *hand) arrived(ctx context.Context, id int, s placement, to string) error {
	begin := time.Now()
	for {
		all, err := h.source.client.Resources(ctx)
		if err != nil {
			return fmt.Errorf("confirm it on its new node: %w", err)
		}
		at := slices.IndexFunc(all, func(r proxmox.Resource) bool { return r.Type == "qemu" && int(r.VMID) == id })
		if at < 0 {
			return errors.New("the VM was deleted during the migration")
		}
		switch r := all[at]; {
		case r.Node == to && r.Lock != "migrate":
			if s.runs && r.Status != "running" && r.Status != "paused" {
				return fmt.Errorf("it was running on %s, but is %s on %s", s.node, r.Status, to)
			}
			return nil
		case r.HAState == "error":
			return errors.New("the HA manager reports an error of the VM: see ha-manager status")
		case r.Lock != "migrate" && r.HAState != "migrate" && time.Since(begin) > rounds:
			return fmt.Errorf("its task has ended, but it is on %s: the HA manager did not carry out the move", r.Node)
		}
		if err := live.Pause(ctx, lookAgain); err != nil {
			return fmt.Errorf("confirm it on its new node: %w", err)
		}
	}
}

// Maintain implements live.Hand. The API cannot set the HA manager's maintenance: a line in
// the node's notes marks it instead.
func (h *hand) Maintain(ctx context.Context, host string, enter bool) error {
	if err := h.maintain(ctx, host, enter); err != nil {
		return fmt.Errorf("maintenance of %s: %w", host, err)
	}
	return nil
}

func (h *hand) maintain(ctx context.Context, host string, enter bool) error {
	v, err := h.source.look(ctx)
	if err != nil {
		return err
	}
	n := v.nodes[host]
	switch {
	case n == nil:
		return errors.New("no such node")
	case !n.online:
		return errors.New("the node does not answer")
	case !enter && n.state == "maintenance":
		return fmt.Errorf("the HA manager has it in maintenance, which the API cannot end: run ha-manager crm-command node-maintenance disable %s on a node", host)
	}
	if left := v.running(host); enter && len(left) > 0 {
		return fmt.Errorf("VMs run on it: move them first: %s", strings.Join(left, ", "))
	}
	notes, err := h.source.client.Notes(ctx, host)
	if err != nil {
		return err
	}
	if marked(notes.Text) == enter {
		return nil
	}
	notes.Text = withMark(notes.Text, enter)
	return h.source.client.SetNotes(ctx, host, notes)
}

// mostNamed is the maximum number of VMs in a message.
const mostNamed = 8

// running are names of running VMs on a node.
func (v *view) running(node string) (names []string) {
	for _, id := range slices.Sorted(maps.Keys(v.seats)) {
		if s := v.seats[id]; s.runs && s.node == node {
			if len(names) == mostNamed {
				return append(names, "and others")
			}
			names = append(names, s.name)
		}
	}
	return names
}

// Missing implements live.Hand.
func (h *hand) Missing(ctx context.Context, a live.Action) ([]string, error) {
	held, err := h.source.client.Permissions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the account's privileges: %w", err)
	}
	p := privileges{held: held}
	switch a {
	case live.Read:
		p.need("/nodes", "Sys.Audit")
		p.need("/vms", "VM.Audit")
		return p.missing, nil
	case live.Reshape:
		v, err := h.source.look(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range slices.Sorted(maps.Keys(v.guests)) {
			p.guest(v.guests[id], "VM.Config.CPU")
		}
	case live.Power:
		v, err := h.source.look(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range slices.Sorted(maps.Keys(v.guests)) {
			p.guest(v.guests[id], "VM.PowerMgmt")
		}
	case live.Move:
		v, err := h.source.look(ctx)
		if err != nil {
			return nil, err
		}
		if len(v.guests) == 0 {
			p.need("/vms", "VM.Migrate")
		}
		for _, id := range slices.Sorted(maps.Keys(v.guests)) {
			p.guest(v.guests[id], "VM.Migrate")
		}
	case live.Maintain:
		v, err := h.source.look(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(v.nodes)) {
			p.need("/nodes/"+name, "Sys.Modify")
		}
	}
	return p.missing, nil
}

// privileges compares the granted privileges with the required ones.
type privileges struct {
	held    map[string]map[string]proxmox.Number
	missing []string
}

func (p *privileges) has(path, privilege string) bool { return proxmox.Holds(p.held, path, privilege) }

func (p *privileges) need(path, privilege string) {
	if !p.has(path, privilege) {
		p.missing = append(p.missing, privilege+" on "+path)
	}
}

// guest requires a privilege on a VM, which its pool can grant.
func (p *privileges) guest(g *guest, privilege string) {
	if g.Pool != "" && p.has("/pool/"+g.Pool, privilege) {
		return
	}
	p.need(fmt.Sprintf("/vms/%d", g.id), privilege)
}
