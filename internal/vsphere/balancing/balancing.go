// Package balancing measures demand and usage of the VMs of a vCenter's cluster, and balances
// it, for the workload balance.
package balancing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
	"plimsoll/internal/load"
	"plimsoll/internal/vsphere"
	"plimsoll/internal/vsphere/counter"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/workload/balance/subject"
)

type client struct {
	session *session.Session // for the counters
	demand  *counter.Demand
	to      live.Connection
	address string

	stop    context.CancelFunc
	watched sync.WaitGroup
	changed chan struct{} // holds one element after a step

	mu    sync.Mutex
	now   *cluster.Cluster // as of the latest step
	moved int              // moves since the last reading
	err   error            // error that ended the watch
}

// Open connects to the vCenter of an endpoint, whose database is the path of a cluster, and
// returns once it has read the whole cluster.
func Open(ctx context.Context, at load.Endpoint) (subject.Subject, error) {
	address, err := session.Address(at)
	if err != nil {
		return nil, err
	}
	c := &client{address: address.String(), changed: make(chan struct{}, 1)}
	if c.session, err = session.Open(ctx, address); err != nil {
		return nil, err
	}
	if c.to, err = vsphere.Kind().Open(ctx, address); err != nil {
		return nil, errors.Join(err, c.session.Close())
	}
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.watched.Go(func() { c.follow(watch) })
	if c.demand, err = counter.OpenDemand(ctx, c.session, address.Path); err == nil {
		_, err = c.seen(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// follow stores the latest step.
func (c *client) follow(ctx context.Context) {
	err := c.to.Source.Watch(ctx, func(s live.Step) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.now != nil {
			c.moved += moves(c.now, s.Cluster)
		}
		c.now = s.Cluster
		c.wake()
		return nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	c.wake()
}

// moves counts the VMs that changed hosts.
func moves(before, after *cluster.Cluster) (n int) {
	at := map[string]string{}
	for i := range before.VMs {
		if v := &before.VMs[i]; v.Host != cluster.Nowhere {
			at[v.Name] = before.Hosts[v.Host].Name
		}
	}
	for i := range after.VMs {
		v := &after.VMs[i]
		if was, ran := at[v.Name]; ran && v.Host != cluster.Nowhere && after.Hosts[v.Host].Name != was {
			n++
		}
	}
	return n
}

func (c *client) wake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// seen is the cluster, once it is known.
func (c *client) seen(ctx context.Context) (*cluster.Cluster, error) {
	for {
		c.mu.Lock()
		now, err := c.now, c.err
		c.mu.Unlock()
		switch {
		case err != nil:
			return nil, fmt.Errorf("watch the cluster: %w", err)
		case now != nil:
			return now, nil
		}
		select {
		case <-c.changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Now implements subject.Subject.
func (c *client) Now(ctx context.Context) (time.Time, error) { return c.demand.Now(ctx) }

// Next implements subject.Subject.
func (c *client) Next(ctx context.Context) (subject.Usage, error) {
	u, err := c.demand.Next(ctx)
	if err == nil {
		_, err = c.seen(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := c.moved
	c.moved = 0
	return subject.Usage{Seconds: u.Seconds, Demanded: u.Demanded, Delivered: u.Delivered, Waited: u.Waited, Moved: moved}, err
}

// MayBalance implements subject.Restricted: no one moves the VMs of a real vCenter back.
func (c *client) MayBalance(ctx context.Context) error {
	own, err := c.session.Simulator(ctx)
	if err == nil && !own {
		err = errors.New("by: plimsoll moves VMs of plimsoll's simulator only; balance a vCenter that you provide with plimsoll cluster balance --live --apply, which can be undone")
	}
	return err
}

// Balance implements subject.Subject.
func (c *client) Balance(ctx context.Context, journal string) (r subject.Round, err error) {
	if err := c.MayBalance(ctx); err != nil {
		return r, err
	}
	seen, err := c.seen(ctx)
	if err != nil {
		return r, err
	}
	plan := apply.Plan{Seen: seen}
	for _, m := range doctor.Look(seen, advice.Options{}).Moves {
		plan.Changes = append(plan.Changes, apply.Change{Number: len(plan.Changes) + 1, Action: live.Move, Step: m.Step, VM: m.VM, From: m.From, To: m.To})
	}
	if r.Planned = len(plan.Changes); r.Planned == 0 {
		return r, nil
	}
	result, err := apply.Applier{Connection: c.to, Journal: journal, Address: c.address, Parallel: parallel}.Apply(ctx, plan)
	if refused := (*apply.Refused)(nil); errors.As(err, &refused) {
		r.Stopped = refused.Why
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Made, r.Stopped = result.Made(), result.Stopped
	return r, nil
}

// parallel is the maximum number of concurrent moves of a host.
const parallel = 4

// Close ends the watch and logs out.
func (c *client) Close() error {
	c.stop()
	c.watched.Wait()
	return errors.Join(c.to.Close(), c.session.Close())
}
