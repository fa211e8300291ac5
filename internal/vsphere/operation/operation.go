// Package operation carries out single management operations on VMs of a vCenter, for the workload
// operations. It waits for all tasks through one shared collector.
package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/load"
	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/task"
	"plimsoll/internal/workload/operations/management"
)

// reference is short for the identifier of an object of the vCenter.
type reference = types.ManagedObjectReference

// client implements management.Platform for a cluster of a vCenter.
type client struct {
	session *session.Session
	tasks   *task.Waiter
	cluster reference
	site    destination
}

// destination is the location of new VMs of a cluster.
type destination struct {
	folder, pool reference
	disks        reference            // the datastore with access from most hosts
	store        string               // its name
	hosts        map[string]reference // hosts with access to it
	names        map[reference]string
}

// Open connects to the vCenter of an endpoint, whose URL is the address of a cluster, or whose
// database is the path of one.
func Open(ctx context.Context, at load.Endpoint) (management.Platform, error) {
	s, cluster, err := inventory.Open(ctx, at)
	if err != nil {
		return nil, err
	}
	c := &client{session: s, tasks: task.NewWaiter(s), cluster: cluster}
	if c.site, err = c.find(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return c, nil
}

func (c *client) vim() *vim25.Client { return c.session.Client() }

// Renewed implements management.Sessions.
func (c *client) Renewed() int { return c.session.Renewed() }

// Close logs out.
func (c *client) Close() error { return c.session.Close() }

// Issue begins an operation. The ticket is the identifier of its task.
func (c *client) Issue(ctx context.Context, o management.Order) (string, error) {
	begin, known := starts()[o.Kind]
	if !known {
		return "", fmt.Errorf("%s is not implemented for vSphere: %w", o.Kind, errors.ErrUnsupported)
	}
	ref, err := begin(ctx, c, o)
	if err != nil {
		return "", named(err)
	}
	return ref.Value, nil
}

// Await returns when a task has ended.
func (c *client) Await(ctx context.Context, ticket string) (management.Outcome, error) {
	info, err := c.tasks.Wait(ctx, reference{Type: "Task", Value: ticket})
	if err != nil {
		return management.Outcome{}, named(err)
	}
	out := management.Outcome{Queued: -1, Ran: -1}
	if made, is := info.Result.(reference); is {
		out.VM = made.Value
	}
	if info.StartTime != nil && !info.QueueTime.IsZero() {
		out.Queued = max(0, info.StartTime.Sub(info.QueueTime))
	}
	if info.StartTime != nil && info.CompleteTime != nil {
		out.Ran = max(0, info.CompleteTime.Sub(*info.StartTime))
	}
	return out, nil
}

// named is an error with the name of its fault, if it is a fault: the vCenter refused the
// operation, or it failed.
func named(err error) error {
	var failed *task.Fault
	switch {
	case errors.As(err, &failed):
		return &management.Fault{Name: faultName(failed.Fault()), Err: err}
	case soap.IsSoapFault(err):
		return &management.Fault{Name: faultName(soap.ToSoapFault(err).VimFault()), Err: err}
	}
	return err
}

func faultName(f any) string {
	name := fmt.Sprintf("%T", f)
	return strings.TrimPrefix(name[strings.LastIndexAny(name, "*.")+1:], "*")
}

// patience is the time limit of calls that free resources of the vCenter.
const patience = 5 * time.Second
