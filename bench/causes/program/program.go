// Package program holds the small programs of which causes are made: clients, servers, hogs, and a
// link with loss and delay. Each runs in a process of its own.
package program

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Command is the argument that makes a program one of these.
const Command = "causes-program"

// options are the settings of all programs; each uses some of them.
type options struct {
	to, listen, protocol, file, namespace, name, address                    string
	threads, connections, buffer, backlog, limit, loss, keys, batch, stream int
	rate, size                                                              float64
	work, hold, delay, pause                                                time.Duration
	short, cubic, heavy, burst                                              bool
}

// Run runs the program that the arguments name, where they name one.
func Run(args []string) (ran bool, err error) {
	if len(args) < 2 || args[0] != Command {
		return false, nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	f := flag.NewFlagSet(Command, flag.ContinueOnError)
	f.StringVar(&o.to, "to", "", "address of the server")
	f.StringVar(&o.listen, "listen", "", "address to listen on")
	f.StringVar(&o.protocol, "protocol", "line", "line, http, redis or memcached")
	f.StringVar(&o.file, "file", "", "file or device")
	f.StringVar(&o.namespace, "namespace", "", "network namespace of the link's far end")
	f.StringVar(&o.name, "name", "", "name of the link's device")
	f.StringVar(&o.address, "address", "", "first three numbers of the link's addresses")
	f.IntVar(&o.threads, "threads", 1, "threads")
	f.IntVar(&o.connections, "connections", 1, "connections")
	f.IntVar(&o.buffer, "buffer", 0, "socket buffer, in bytes")
	f.IntVar(&o.backlog, "backlog", 0, "length of the listen queue")
	f.IntVar(&o.limit, "limit", 0, "longest queue of the link, in packets")
	f.IntVar(&o.keys, "keys", 0, "keys of Redis to read at random, key:0 and so on")
	f.IntVar(&o.batch, "batch", 1, "keys that a request reads")
	f.IntVar(&o.loss, "loss", 0, "packets lost of 1,000")
	f.IntVar(&o.stream, "stream", 64, "MiB of memory that each thread streams through")
	f.Float64Var(&o.rate, "rate", 0, "operations or bytes per second in all; 0: as fast as possible")
	f.Float64Var(&o.size, "size", 0, "MiB of memory or of a file")
	f.DurationVar(&o.work, "work", 0, "CPU time of a request")
	f.DurationVar(&o.hold, "hold", 0, "part of it under a lock that all threads share")
	f.DurationVar(&o.delay, "delay", 0, "delay of the link in each direction")
	f.DurationVar(&o.pause, "pause", 0, "wait of a request without use of a CPU")
	f.BoolVar(&o.short, "short", false, "a connection for each request")
	f.BoolVar(&o.heavy, "heavy", false, "requests that are work for the server")
	f.BoolVar(&o.burst, "burst", false, "all connections make their requests at the same time")
	f.BoolVar(&o.cubic, "cubic", false, "congestion control cubic")
	if err := f.Parse(args[2:]); err != nil {
		return true, err
	}
	run, known := map[string]func(context.Context, options) error{
		"load": load, "serve": serve, "burn": burn, "thrash": thrash, "lookup": lookup, "journal": journal,
		"write": writing, "read": reading, "pages": pages, "send": send, "receive": receive, "packets": packets, "collect": collect, "link": link, "phases": phases, "survey": survey, "toll": toll,
	}[args[1]]
	if !known {
		return true, fmt.Errorf("there is no program %q", args[1])
	}
	return true, run(ctx, o)
}

// tally collects the operations of a second, from all threads.
type tally struct {
	sync.Mutex
	latencies []float64 // in seconds
	amount    float64   // operations or bytes, where they are not those of latencies
	errors    int
}

func (t *tally) done(began time.Time, err error) {
	t.Lock()
	defer t.Unlock()
	if err != nil {
		t.errors++
		return
	}
	t.latencies = append(t.latencies, time.Since(began).Seconds())
}

func (t *tally) add(amount float64) {
	t.Lock()
	t.amount += amount
	t.Unlock()
}

// print prints a line of JSON for each second.
func (t *tally) print(ctx context.Context, out io.Writer) error {
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		t.Lock()
		all, amount, failed := t.latencies, t.amount, t.errors
		t.latencies, t.amount, t.errors = nil, 0, 0
		t.Unlock()
		elapsed := time.Since(last).Seconds()
		last = time.Now()
		line := map[string]float64{"rate": (float64(len(all)) + amount) / elapsed, "errors": float64(failed) / elapsed}
		if len(all) > 0 {
			slices.Sort(all)
			var sum float64
			for _, v := range all {
				sum += v
			}
			line["latency"] = sum / float64(len(all))
			line["p99"] = all[int(math.Ceil(0.99*float64(len(all))))-1]
		}
		if err := json.NewEncoder(out).Encode(line); err != nil {
			return err
		}
	}
}

// spin uses a CPU for a time, of the wall clock.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// step is one of a chain that no two instructions of can run at once.
func step(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	return x ^ x<<17
}

// pace is the number of steps in a microsecond on a CPU of its own.
var pace = sync.OnceValue(func() float64 {
	const steps = 20_000
	best := 0.0
	for range 50 {
		began, x := time.Now(), uint64(1)
		for range steps {
			x = step(x)
		}
		sink.Store(x)
		best = max(best, steps/(float64(time.Since(began).Nanoseconds())/1000))
	}
	return best
})

// labour does the work that takes d on a CPU of its own.
func labour(d time.Duration) {
	x := uint64(1)
	for range int(pace() * d.Seconds() * 1e6) {
		x = step(x)
	}
	sink.Store(x)
}
