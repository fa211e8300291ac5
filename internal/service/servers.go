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
// Those that stay are not touched, except that servers at one port let their connections go to new ones.
type Scaler interface {
	// Scale may be called under load. It sets the number of running servers, at least one. If one does not start, all are
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
	stopped   bool

	mu      sync.Mutex
	running []Instance
}

// now are the servers that run.
func (s *servers) now() []Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.running)
}

func (s *servers) set(running []Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = running
}

// Scale starts missing servers, or stops the last ones.
func (s *servers) Scale(ctx context.Context, want int) error {
	if s.stopped {
		return errors.New("the servers were stopped")
	}
	all := s.now()
	have := len(all)
	if want <= have {
		return s.shrink(ctx, max(1, want))
	}
	all = append(all, make([]Instance, want-have)...)
	err := each(have, want, func(i int) (err error) {
		all[i], err = s.start(ctx, i, want)
		return err
	})
	s.set(all)
	if err == nil {
		return s.release(ctx, all[:have])
	}
	clear, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(err, s.Stop(clear))
}

// release has servers at one port let their connections go: the kernel divides them anew among all.
func (s *servers) release(ctx context.Context, former []Instance) error {
	if s.placement.Network != atOnePort {
		return nil
	}
	return each(0, len(former), func(i int) error {
		if one, ok := former[i].(interface{ Release(context.Context) error }); ok {
			return one.Release(ctx)
		}
		return nil
	})
}

// start starts one of several servers, in its network namespace if it has one.
func (s *servers) start(ctx context.Context, i, of int) (Instance, error) {
	env := s.env
	env.Dir = path.Join(env.Dir, strconv.Itoa(i))
	if s.wiring != nil {
		var err error
		if env, err = s.wiring.plug(ctx, env, i); err != nil {
			return nil, fmt.Errorf("server %d of %d: %w", i+1, of, err)
		}
	}
	one, err := s.one.Start(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("server %d of %d: %w", i+1, of, err)
	}
	return one, nil
}

// shrink stops all but the first servers. While others stay at their port, they complete their responses first.
func (s *servers) shrink(ctx context.Context, keep int) error {
	all := s.now()
	s.set(all[:min(keep, len(all))]) // none that stops counts as dead
	err := each(keep, len(all), func(i int) error {
		var stopped error
		if one, ok := all[i].(interface{ Leave(context.Context) error }); ok && keep > 0 && s.placement.Network == atOnePort {
			stopped = one.Leave(ctx)
		}
		if all[i] != nil {
			stopped = errors.Join(stopped, all[i].Stop(ctx))
		}
		if s.wiring != nil {
			stopped = errors.Join(stopped, s.wiring.unplug(ctx, i))
		}
		return stopped
	})
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
	running := s.now()
	for i, one := range running {
		m, ok := one.(FailureReporter)
		if !ok || m.Died() == nil {
			continue
		}
		if len(running) > 1 {
			return fmt.Errorf("server %d of %d: %w", i+1, len(running), m.Died())
		}
		return m.Died()
	}
	return nil
}

// Endpoint is the address of the first server, with all others, and their certificate
// authority.
func (s *servers) Endpoint(protocol string) (load.Endpoint, error) {
	running := s.now()
	if len(running) == 0 {
		return load.Endpoint{}, errors.New("no server runs")
	}
	all, err := running[0].Endpoint(protocol)
	if err != nil || s.placement.Network == atOnePort {
		return all, err
	}
	for _, one := range running[1:] {
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
	observed, running := map[string]string{}, s.now()
	if len(running) > 0 {
		first, err := running[0].Observed(ctx)
		if err != nil {
			return nil, err
		}
		for name, value := range first {
			observed[name] = value
		}
	}
	observed["instances"], observed["network"] = strconv.Itoa(len(running)), s.placement.Network
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
	running := s.now()
	counts := make([]map[string]float64, len(running))
	err := each(0, len(running), func(i int) (err error) {
		counts[i], err = running[i].Counters(ctx)
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
	running := s.now()
	for i, one := range running {
		of, ok := one.(Settling)
		if !ok {
			return "", false, nil
		}
		busy, known, err = of.Unsettled(ctx)
		if busy != "" && len(running) > 1 {
			busy = fmt.Sprintf("%s in server %d of %d", busy, i+1, len(running))
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
