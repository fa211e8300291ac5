package service

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/load"
)

// Scaler is an instance of several servers, of which there can be more or fewer.
// Those that stay are not touched.
type Scaler interface {
	// Scale sets the number of running servers, at least one. If one does not start, all are
	// stopped.
	Scale(ctx context.Context, servers int) error
}

// atOnce is the number of servers that start or stop concurrently.
const atOnce = 4

// servers are the running servers of a fleet.
type servers struct {
	one       Service
	env       Env
	placement Placement
	wiring    *wiring // nil on the host's own network
	running   []Instance
	stopped   bool
}

// Scale starts missing servers, or stops the last ones.
func (s *servers) Scale(ctx context.Context, want int) error {
	have := len(s.running)
	if want <= have {
		return s.shrink(ctx, max(1, want))
	}
	s.running = append(s.running, make([]Instance, want-have)...)
	err := each(have, want, func(i int) (err error) {
		s.running[i], err = s.start(ctx, i)
		return err
	})
	if err == nil {
		return nil
	}
	clear, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(err, s.Stop(clear))
}

// start starts one server, in its network namespace if it has one.
func (s *servers) start(ctx context.Context, i int) (Instance, error) {
	env := s.env
	env.Dir = path.Join(env.Dir, strconv.Itoa(i))
	if s.wiring != nil {
		var err error
		if env, err = s.wiring.plug(ctx, env, i); err != nil {
			return nil, fmt.Errorf("server %d of %d: %w", i+1, len(s.running), err)
		}
	}
	one, err := s.one.Start(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("server %d of %d: %w", i+1, len(s.running), err)
	}
	return one, nil
}

// shrink stops all but the first servers.
func (s *servers) shrink(ctx context.Context, keep int) error {
	err := each(keep, len(s.running), func(i int) error {
		var stopped error
		if s.running[i] != nil {
			stopped = s.running[i].Stop(ctx)
		}
		if s.wiring != nil {
			stopped = errors.Join(stopped, s.wiring.unplug(ctx, i))
		}
		return stopped
	})
	s.running = s.running[:min(keep, len(s.running))]
	return err
}

// each calls do for the numbers from begin up to but excluding end, concurrently, and joins
// the errors. It calls all of them.
func each(begin, end int, do func(i int) error) error {
	free := make(chan struct{}, atOnce)
	failed := make([]error, max(0, end-begin))
	var under sync.WaitGroup
	for i := begin; i < end; i++ {
		free <- struct{}{}
		under.Go(func() {
			failed[i-begin] = do(i)
			<-free
		})
	}
	under.Wait()
	return errors.Join(failed...)
}

// Died is why one of the servers has died.
func (s *servers) Died() error {
	for i, one := range s.running {
		m, ok := one.(FailureReporter)
		if !ok || m.Died() == nil {
			continue
		}
		if len(s.running) > 1 {
			return fmt.Errorf("server %d of %d: %w", i+1, len(s.running), m.Died())
		}
		return m.Died()
	}
	return nil
}

// Endpoint is the address of the first server, with all others, and their certificate
// authority.
func (s *servers) Endpoint(protocol string) (load.Endpoint, error) {
	if len(s.running) == 0 {
		return load.Endpoint{}, errors.New("no server runs")
	}
	all, err := s.running[0].Endpoint(protocol)
	if err != nil {
		return all, err
	}
	for _, one := range s.running[1:] {
		e, err := one.Endpoint(protocol)
		if err != nil {
			return all, err
		}
		all.More = append(all.More, e.Address)
		if len(e.CA) > 0 { // each has an authority of its own
			all.CA = slices.Concat(all.CA, e.CA)
		}
	}
	return all, nil
}

// Observed reads the settings of the first server, since all have the same, and those of the
// network from the kernel.
func (s *servers) Observed(ctx context.Context) (map[string]string, error) {
	observed := map[string]string{}
	if len(s.running) > 0 {
		first, err := s.running[0].Observed(ctx)
		if err != nil {
			return nil, err
		}
		for name, value := range first {
			observed[name] = value
		}
	}
	observed["instances"], observed["network"] = strconv.Itoa(len(s.running)), s.placement.Network
	observed["batching"] = "0s"
	if s.wiring == nil {
		return observed, nil
	}
	var err error
	observed["batching"], err = s.wiring.observe(ctx)
	return observed, err
}

// Counters is the sum of the servers' counters.
func (s *servers) Counters(ctx context.Context) (map[string]float64, error) {
	counts := make([]map[string]float64, len(s.running))
	err := each(0, len(s.running), func(i int) (err error) {
		counts[i], err = s.running[i].Counters(ctx)
		return err
	})
	sum := map[string]float64{}
	for _, c := range counts {
		for name, v := range c {
			sum[name] += v
		}
	}
	return sum, err
}

// Unsettled is the background work of one of the servers.
func (s *servers) Unsettled(ctx context.Context) (busy string, known bool, err error) {
	for i, one := range s.running {
		of, ok := one.(Settling)
		if !ok {
			return "", false, nil
		}
		busy, known, err = of.Unsettled(ctx)
		if busy != "" && len(s.running) > 1 {
			busy = fmt.Sprintf("%s in server %d of %d", busy, i+1, len(s.running))
		}
		if err != nil || busy != "" || !known {
			return busy, known, err
		}
	}
	return "", known, nil
}

// Stop stops all servers and removes their folders and cables.
func (s *servers) Stop(ctx context.Context) error {
	if s.stopped {
		return nil
	}
	err := s.shrink(ctx, 0)
	clear, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if removed := removeFolder(clear, s.env); removed != nil {
		return errors.Join(err, removed)
	}
	s.stopped = true
	return err
}
