package ceph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

// spreads refuses what several machines cannot have.
func (s Settings) spreads(machines int) error {
	switch {
	case machines == 1:
		return nil
	case s.OSDs < machines:
		return fmt.Errorf("osds is %d, and the group of the service has %d machines: each has at least one OSD", s.OSDs, machines)
	case s.Network != hostNetwork:
		return fmt.Errorf("network %s is that of one machine, and the group of the service has %d: set network: %s", s.Network, machines, hostNetwork)
	case s.Sites > 1:
		return fmt.Errorf("sites: %d are on one machine, and the group of the service has %d: set sites: 1", s.Sites, machines)
	}
	return nil
}

// several is a cluster on several machines. The monitor is on the first.
type several struct {
	*service.Running
	others []service.Instance
}

// assembling is at most how long the OSDs of all machines take until all placement groups serve.
const assembling = time.Minute

// spread starts the OSDs of the other machines.
func (l *launch) spread(ctx context.Context, env service.Env, first *service.Running) (service.Instance, error) {
	all := &several{Running: first, others: make([]service.Instance, len(env.Peers))}
	err := all.each(func(i int) (err error) {
		all.others[i], err = l.private(1+i).Start(ctx, env.At(env.Peers[i]))
		if err != nil {
			err = fmt.Errorf("machine %s: %w", env.Peers[i].Machine.Name(), err)
		}
		return err
	})
	if err == nil {
		err = l.assemble(ctx, all)
	}
	if err == nil {
		err = first.Adapt(ctx, encoded(l.settings)) // it has its capacity now
	}
	if err == nil {
		return all, nil
	}
	clear, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return nil, errors.Join(err, all.Stop(clear))
}

// assemble waits until the cluster serves.
func (l *launch) assemble(ctx context.Context, all *several) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return until(ctx, assembling, "cluster that serves", func(ctx context.Context) (string, error) {
		if died := all.Died(); died != nil {
			cancel(died)
			return "", died
		}
		return "", l.cluster.daemons.ready(ctx)
	})
}

// encoded are all settings as text, except those that are nothing.
func encoded(s Settings) parameter.Settings {
	all := parameter.Settings{}
	for _, f := range parameter.Fields(s) {
		if f.Default != "" {
			all[f.Name] = f.Default
		}
	}
	return all
}

// each does something for all other machines at once.
func (s *several) each(do func(i int) error) error {
	failed := make([]error, len(s.others))
	var under sync.WaitGroup
	for i := range s.others {
		under.Go(func() { failed[i] = do(i) })
	}
	under.Wait()
	return errors.Join(failed...)
}

// Died is why daemons of a machine do not run any more.
func (s *several) Died() error {
	if err := s.Running.Died(); err != nil {
		return err
	}
	for _, one := range s.others {
		if r, ok := one.(service.FailureReporter); ok && r.Died() != nil {
			return r.Died()
		}
	}
	return nil
}

// Logged is the log of all machines, one after the other.
func (s *several) Logged(ctx context.Context) []byte {
	all := slices.Clone(s.Running.Logged(ctx))
	for _, one := range s.others {
		if of, ok := one.(service.Logging); ok {
			all = append(all, of.Logged(ctx)...)
		}
	}
	return all
}

// Stop stops the daemons of all machines.
func (s *several) Stop(ctx context.Context) error {
	err := s.each(func(i int) error {
		if s.others[i] == nil {
			return nil
		}
		return s.others[i].Stop(ctx)
	})
	return errors.Join(err, s.Running.Stop(ctx))
}
