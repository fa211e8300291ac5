// Package operation carries out single management operations on VMs of Proxmox VE, for the workload
// operations.
package operation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/live"
	cluster "plimsoll/internal/live/proxmox"
	"plimsoll/internal/proxmox"
	"plimsoll/internal/workload/operations/management"
)

// firstLook is the time before a task is polled first: Proxmox VE cannot wait for one.
const firstLook = 10 * time.Millisecond

// client implements management.Platform.
type client struct {
	jobs    management.Jobs
	api     *proxmox.Client
	storage string // of disks; empty for none

	mu   sync.Mutex
	last int // last ID given to a VM
}

// Open connects to a cluster.
func Open(ctx context.Context, at live.Address) (management.Platform, error) {
	api, _, err := cluster.Connect(ctx, at)
	if err != nil {
		return nil, err
	}
	c := &client{api: api}
	if c.storage, err = storageOf(ctx, api); err != nil {
		api.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connections.
func (c *client) Close() error {
	c.api.Close()
	return nil
}

// Issue begins an operation.
func (c *client) Issue(ctx context.Context, o management.Order) (string, error) {
	do, known := actions()[o.Kind]
	if !known {
		return "", fmt.Errorf("%s is not implemented for Proxmox VE: %w", o.Kind, errors.ErrUnsupported)
	}
	return c.jobs.Begin(ctx, func(ctx context.Context) (management.Outcome, error) {
		out, err := do(ctx, c, o)
		out.Queued, out.Ran = -1, -1 // tasks have times in whole seconds
		return out, named(err)
	}), nil
}

// Await returns when an operation has ended.
func (c *client) Await(ctx context.Context, ticket string) (management.Outcome, error) {
	return c.jobs.Await(ctx, ticket)
}

// named is an error with the name of its fault, if the cluster refused or failed.
func named(err error) error {
	if name, is := proxmox.Fault(err); is {
		return &management.Fault{Name: name, Err: err}
	}
	return err
}

// await waits for a task.
func (c *client) await(ctx context.Context, task proxmox.UPID, err error) error {
	if err != nil {
		return err
	}
	return c.api.AwaitFrom(ctx, task, firstLook)
}

// guest is the VM of an operation.
func (c *client) guest(o management.Order) (proxmox.Guest, error) {
	id, err := strconv.Atoi(o.VM)
	if err != nil || id < 1 {
		return proxmox.Guest{}, fmt.Errorf("%q identifies no VM", o.VM)
	}
	return proxmox.Guest{Client: c.api, Node: o.From, ID: id}, nil
}

// freeID is an ID that was not given to another new VM.
func (c *client) freeID(ctx context.Context) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := proxmox.NextID(ctx, c.api)
	if err != nil {
		return 0, err
	}
	c.last = max(id, c.last+1)
	return c.last, nil
}
