package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/internal/catalog"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/lab"
	"plimsoll/internal/stat"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/machines"
)

const (
	observerPairs = 120
	observerBlock = 2 * time.Second
	observerEdge  = 300 * time.Millisecond // of a block that does not count
	observerDose  = 25                     // times as many readings as in a trial
)

// observerEffect is what reading the host as trials do costs a load in throughput: Redis is driven without a break
// by a closed loop, and the host is read in one of two neighbouring blocks, in random order. Blocks with readings have
// several times as many as a trial, because the noise of a load hides the effect of a few; the effect is divided by
// that number, so it is taken to be proportional to the readings.
func observerEffect() ([]result, error) {
	dir, err := os.MkdirTemp(".", "bench-observer-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rates := &sums{}
	kinds := catalog.All()
	kinds.Sources = nil
	l := &lab.Lab{Catalog: kinds, Version: "bench", Progress: rates.add}
	length := 2*observerPairs*observerBlock + 30*time.Second
	source, err := l.Read("redis-peak", []string{"load=closed", "headline=[operations]", "measure.warmup=2s", "measure.interval=100ms", "measure.window=" + length.String(), "measure.longest=" + (length + 10*time.Second).String(), "measure.blocks=1"})
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := l.Run(ctx, lab.Request{Source: *source, Dir: filepath.Join(dir, "run"), Seed: 1})
		ended <- err
	}()
	effects, costs, readings, err := rates.compare(ended)
	cancel()
	<-ended
	if err != nil {
		return nil, err
	}
	line := func(what string, logs []float64) result {
		mean, low, high := stat.MeanInterval(logs, .95)
		name := fmt.Sprintf("change of %s while the host is read, %+.2f %% to %+.2f %%: 1/%d of that by %d readings (95 %%, %d pairs of %s)",
			what, 100*math.Expm1(low/observerDose), 100*math.Expm1(high/observerDose), observerDose, readings, len(logs), observerBlock)
		return result{name, math.Abs(math.Expm1(mean / observerDose)), "limit", .005, "share"}
	}
	return []result{line("throughput", effects), line("CPU time per operation", costs)}, nil
}

// sums adds up the rates of the load's intervals.
type sums struct {
	mu    sync.Mutex
	begun bool
	rate  float64
	n     int
}

func (s *sums) add(e trial.Event) {
	if e.Rate <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = s.begun || e.Phase == trial.PhaseMeasure
	s.rate, s.n = s.rate+e.Rate, s.n+1
}

// take is the mean rate since the last call; 0 without an interval.
func (s *sums) take() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	mean := s.rate / float64(max(1, s.n))
	s.rate, s.n = 0, 0
	return mean
}

// usage reads the CPU time of what this process started: the server and the load generator.
type usage struct{ reader *hoststat.Reader }

func (u *usage) seconds() (sum float64) {
	s := u.reader.Read(0)
	u.reader.Focus = nil // from the next reading on, their threads are read even if they were idle
	for i := range s.Processes {
		p := &s.Processes[i]
		if p.Origin == "" {
			continue
		}
		u.reader.Focus = append(u.reader.Focus, p.PID)
		for _, t := range p.Tasks { // to the nanosecond, other than the process's own
			sum += t.Busy()
		}
	}
	return sum
}

// compare reads the host in one block of each pair, and returns the logarithms of the rates, and of the CPU time
// of the server and the load generator per operation, with reading relative to those without.
func (s *sums) compare(ended <-chan error) (effects, costs []float64, readings int, err error) {
	for started := false; !started; {
		select {
		case err := <-ended:
			return nil, nil, 0, errors.Join(errors.New("the load ended before it was measured"), err)
		case <-time.After(100 * time.Millisecond):
		}
		s.mu.Lock()
		started = s.begun
		s.mu.Unlock()
	}
	reader := hoststat.NewReader(hoststat.Local())
	reader.Parent = os.Getpid()
	used := &usage{hoststat.NewReader(hoststat.Local())}
	used.reader.Parent, used.reader.Only = os.Getpid(), []string{"processes"}
	used.seconds() // finds them
	random := rand.New(rand.NewPCG(1, 2))
	for range observerPairs {
		var rates, each [2]float64 // without and with reading
		first := random.IntN(2)
		for _, reads := range []int{first, 1 - first} {
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				if reads == 0 {
					return
				}
				f := &trace.Follower{Reader: reader, Every: 500 * time.Millisecond / observerDose, Share: machines.SampleShare * observerDose}
				f.Begin()
				f.Run(stop, func(*hoststat.Interval) { readings++ })
			}()
			time.Sleep(observerEdge)
			before, from := used.seconds(), time.Now()
			s.take()
			time.Sleep(observerBlock - observerEdge)
			rates[reads] = s.take()
			each[reads] = (used.seconds() - before) / time.Since(from).Seconds() / rates[reads]
			close(stop)
			<-done
		}
		if rates[0] > 0 && rates[1] > 0 {
			effects, costs = append(effects, math.Log(rates[1]/rates[0])), append(costs, math.Log(each[1]/each[0]))
		}
	}
	if len(effects) < 2 {
		err = errors.New("the load reported no rates")
	}
	return effects, costs, readings, err
}
