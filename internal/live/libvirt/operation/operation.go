// Package operation carries out single management operations on domains of hosts with libvirt, for
// the workload operations.
package operation

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"plimsoll/internal/libvirt"
	"plimsoll/internal/live"
	hosts "plimsoll/internal/live/libvirt"
	"plimsoll/internal/workload/operations/management"
)

// lines is the number of connections per host: a daemon serves five calls of a connection
// concurrently.
const lines = 2

// client implements management.Platform.
type client struct {
	jobs  management.Jobs
	hosts []*host
	plan  machine
	pool  string // of disks; empty if the list has none
}

// host is a host with connections to its daemon.
type host struct {
	hosts.Host
	lines []*libvirt.Conn
	turn  atomic.Uint32
}

func (h *host) conn() *libvirt.Conn { return h.lines[int(h.turn.Add(1))%len(h.lines)] }

// Open connects to all hosts of a list.
func Open(ctx context.Context, at live.Address) (management.Platform, error) {
	list, err := hosts.Hosts(at)
	if err != nil {
		return nil, err
	}
	if list.ReadOnly {
		return nil, &live.Mistake{Err: errors.New("the list of hosts is read-only")}
	}
	c := &client{pool: poolOf(list.Datastores)}
	for _, l := range list.Hosts {
		h := &host{Host: l}
		c.hosts = append(c.hosts, h)
		for range lines {
			conn, err := libvirt.Dial(ctx, l.URI)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("host %s: %w", l.Name, err), c.Close())
			}
			h.lines = append(h.lines, conn)
		}
	}
	if c.plan, err = c.common(ctx); err == nil && c.pool != "" {
		err = c.findPool(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close disconnects from all hosts.
func (c *client) Close() error {
	var errs []error
	for _, h := range c.hosts {
		for _, l := range h.lines {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// Issue begins an operation.
func (c *client) Issue(ctx context.Context, o management.Order) (string, error) {
	do, known := actions()[o.Kind]
	if !known {
		return "", fmt.Errorf("%s is not implemented for libvirt: %w", o.Kind, errors.ErrUnsupported)
	}
	return c.jobs.Begin(ctx, func(ctx context.Context) (management.Outcome, error) {
		out, err := do(ctx, c, o)
		out.Queued, out.Ran = -1, -1 // daemons do not report them
		return out, named(err)
	}), nil
}

// Await returns when an operation has ended.
func (c *client) Await(ctx context.Context, ticket string) (management.Outcome, error) {
	return c.jobs.Await(ctx, ticket)
}

// Missing lists the hosts whose daemons refuse changes.
func (c *client) Missing(ctx context.Context, _ []management.Kind) (missing []string, err error) {
	for _, h := range c.hosts {
		may, err := libvirt.Host{Conn: h.conn()}.MayWrite(ctx)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", h.Name, err)
		}
		if !may {
			missing = append(missing, "write access to libvirt on "+h.Name)
		}
	}
	return missing, nil
}

// named is an error with the name of the daemon's error code, if it has one: refused or
// failed.
func named(err error) error {
	if name, refused := libvirt.Refused(err); refused {
		return &management.Fault{Name: name, Err: err}
	}
	return err
}

func (c *client) host(name string) (*host, error) {
	for _, h := range c.hosts {
		if h.Name == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("no host %q in the list", name)
}

// find looks a domain up on its host.
func (c *client) find(ctx context.Context, o management.Order) (i libvirt.Instance, h *host, err error) {
	if h, err = c.host(o.From); err != nil {
		return i, h, err
	}
	var uuid [16]byte
	if n, err := hex.Decode(uuid[:], []byte(o.VM)); err != nil || n != len(uuid) {
		return i, h, fmt.Errorf("%q identifies no domain", o.VM)
	}
	i.Conn = h.conn()
	i.Domain, err = libvirt.Host{Conn: i.Conn}.LookupUUID(ctx, uuid)
	return i, h, err
}

// everywhere calls a function for all hosts concurrently.
func (c *client) everywhere(do func(h *host) error) error {
	errs := make([]error, len(c.hosts))
	var all sync.WaitGroup
	for i, h := range c.hosts {
		all.Go(func() {
			if err := do(h); err != nil {
				errs[i] = fmt.Errorf("host %s: %w", h.Name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
