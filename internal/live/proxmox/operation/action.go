package operation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/proxmox"
	"plimsoll/internal/workload/operations/management"
)

// action carries out an operation.
type action func(ctx context.Context, c *client, o management.Order) (management.Outcome, error)

func actions() map[management.Kind]action {
	return map[management.Kind]action{
		management.PowerOn:         status("start"),
		management.PowerOff:        status("stop"),
		management.Suspend:         status("suspend"),
		management.Create:          create,
		management.Clone:           clone,
		management.Delete:          remove,
		management.Reconfigure:     reconfigure,
		management.Relocate:        move,
		management.Migrate:         move,
		management.Snapshot:        on(snapshot),
		management.Revert:          on(revert),
		management.RemoveSnapshots: removeSnapshots,
	}
}

// on is an operation on a VM that consists of one task.
func on(begin func(context.Context, proxmox.Guest) (proxmox.UPID, error)) action {
	return func(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
		g, err := c.guest(o)
		if err != nil {
			return out, err
		}
		task, err := begin(ctx, g)
		return out, c.await(ctx, task, err)
	}
}

func status(name string) action {
	return on(func(ctx context.Context, g proxmox.Guest) (proxmox.UPID, error) { return g.Status(ctx, name) })
}

// tries is the number of attempts to find an ID that no other client takes first.
const tries = 5

// fresh calls a function with an ID for a new VM.
func (c *client) fresh(ctx context.Context, do func(id int) error) (out management.Outcome, err error) {
	for range tries {
		id, err := c.freeID(ctx)
		if err != nil {
			return out, err
		}
		err = do(id)
		if name, _ := proxmox.Fault(err); name == "already-exists" {
			continue
		}
		out.VM = strconv.Itoa(id)
		return out, err
	}
	return out, fmt.Errorf("other clients take each free ID first, %d times", tries)
}

func create(ctx context.Context, c *client, o management.Order) (management.Outcome, error) {
	const mib = 1 << 20
	settings := map[string]string{
		"name": o.Name, "description": o.Mark, "memory": strconv.FormatInt(o.Size.Memory/mib, 10), "cores": strconv.Itoa(o.Size.CPUs), "ostype": "l26",
	}
	if o.Size.Disk > 0 {
		if c.storage == "" {
			return management.Outcome{}, fmt.Errorf("no storage that all nodes share takes disks of VMs: set disk to 0B: %w", errors.ErrUnsupported)
		}
		const gib = 1 << 30
		settings["scsi0"] = c.storage + ":" + strconv.FormatInt(max(1, (o.Size.Disk+gib-1)/gib), 10)
	}
	return c.fresh(ctx, func(id int) error {
		g := proxmox.Guest{Client: c.api, Node: o.Host, ID: id}
		task, err := g.Create(ctx, settings)
		return c.await(ctx, task, err)
	})
}

// clone copies a VM, on its node.
func clone(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	g, err := c.guest(o)
	if err != nil {
		return out, err
	}
	return c.fresh(ctx, func(id int) error {
		task, err := g.Copy(ctx, id, map[string]string{"name": o.Name, "description": o.Mark})
		return c.await(ctx, task, err)
	})
}

// remove deletes a VM. A VM with saved memory is locked until it is started.
func remove(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	g, err := c.guest(o)
	if err != nil {
		return out, err
	}
	is, err := g.Settings(ctx)
	if err != nil {
		return out, err
	}
	if is["lock"] == suspended {
		for _, step := range []string{"start", "stop"} {
			task, err := g.Status(ctx, step)
			if err := c.await(ctx, task, err); err != nil {
				return out, err
			}
		}
	}
	task, err := g.Delete(ctx)
	return out, c.await(ctx, task, err)
}

// reconfigure sets the CPU units, which are the shares of Proxmox VE.
func reconfigure(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	g, err := c.guest(o)
	if err != nil {
		return out, err
	}
	task, err := g.Configure(ctx, map[string]string{"cpuunits": strconv.Itoa(o.Shares)})
	return out, c.await(ctx, task, err)
}

func move(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	g, err := c.guest(o)
	if err != nil {
		return out, err
	}
	task, err := c.api.Migrate(ctx, proxmox.Migration{Node: g.Node, VMID: g.ID, Target: o.Host, Online: o.Kind == management.Migrate})
	return out, c.await(ctx, task, err)
}

func snapshot(ctx context.Context, g proxmox.Guest) (proxmox.UPID, error) {
	return g.TakeSnapshot(ctx, "plimsoll"+strings.ToLower(rand.Text()))
}

// revert reverts to the parent snapshot of the VM's current state.
func revert(ctx context.Context, g proxmox.Guest) (proxmox.UPID, error) {
	list, err := g.Snapshots(ctx)
	if err != nil {
		return proxmox.UPID{}, err
	}
	for _, s := range list {
		if s.Name == current && s.Parent != "" {
			return g.Rollback(ctx, s.Parent)
		}
	}
	return proxmox.UPID{}, errors.New("the VM has no current snapshot")
}

func removeSnapshots(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	g, err := c.guest(o)
	if err != nil {
		return out, err
	}
	list, err := g.Snapshots(ctx)
	if err != nil {
		return out, err
	}
	for _, s := range list {
		if s.Name == current {
			continue
		}
		task, err := g.DeleteSnapshot(ctx, s.Name)
		if err := c.await(ctx, task, err); err != nil {
			return out, err
		}
	}
	return out, nil
}
