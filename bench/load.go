package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/catalog"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform/local"
	"plimsoll/internal/service"
	"plimsoll/internal/workload"
)

// rounds is how often a load and its peer take turns, and turn how long each is on.
const (
	rounds = 5
	turn   = 3 * time.Second
)

// contest is a load of plimsoll's and a peer that makes the same one.
type contest struct {
	what     string
	service  string
	settings parameter.Settings // of the service
	protocol string
	workload string
	load     parameter.Settings
	peer     string
	// argv is the peer's command line, and operations finds how many it did.
	argv       func(at load.Endpoint) []string
	operations func(out string) (float64, error)
}

func contests() []contest {
	redis := func(pipeline int) contest {
		const n = 300_000
		return contest{
			what: fmt.Sprintf("key-value, pipeline %d", pipeline), service: "redis", protocol: "redis", workload: "keyvalue", peer: "redis-benchmark",
			load: parameter.Settings{"read": "100%", "keys": "10000", "value": "256B", "connections": "50", "threads": "1", "pipeline": strconv.Itoa(pipeline)},
			argv: func(at load.Endpoint) []string {
				port := at.Address[strings.LastIndexByte(at.Address, ':')+1:]
				return []string{"redis-benchmark", "-p", port, "-c", "50", "-n", strconv.Itoa(n * min(pipeline, 4)), "-t", "get", "-d", "256", "-r", "10000", "-P", strconv.Itoa(pipeline), "-q"}
			},
			operations: func(string) (float64, error) { return float64(n * min(pipeline, 4)), nil },
		}
	}
	return []contest{
		{
			what: "web, 1 KiB", service: "nginx", protocol: "http", workload: "web", peer: "wrk",
			settings: parameter.Settings{"page_size": "1KiB", "pages": "1", "images": "0"},
			load:     parameter.Settings{"connections": "32"},
			argv: func(at load.Endpoint) []string {
				return []string{"wrk", "-t1", "-c32", fmt.Sprintf("-d%.0fs", turn.Seconds()), "http://" + at.Address + "/0/page.html"}
			},
			operations: func(out string) (float64, error) {
				m := regexp.MustCompile(`(\d+) requests in`).FindStringSubmatch(out)
				if m == nil {
					return 0, fmt.Errorf("wrk says nothing of requests: %s", out)
				}
				return strconv.ParseFloat(m[1], 64)
			},
		},
		redis(1), redis(16),
	}
}

// loads holds the CPU time that the load generator takes for an operation against
// that of its peers, on the same server, turn by turn.
func loads() ([]result, error) {
	var all []result
	var failed error
	for _, c := range contests() {
		if _, err := exec.LookPath(c.peer); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s is not installed, so that there is no peer for %s", c.peer, c.what))
			continue
		}
		r, err := c.run(context.Background())
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", c.what, err))
			continue
		}
		all = append(all, r)
	}
	return all, failed
}

func (c contest) run(ctx context.Context) (result, error) {
	p, err := local.Kind().Open(ctx, nil, 1)
	if err != nil {
		return result{}, err
	}
	defer p.Close()
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // some servers refuse to run as root
		return result{}, err
	}
	instance, err := c.start(ctx, service.Env{Machine: p.Machine(), Dir: dir + "/service", Seed: 1, Log: func(string, ...any) {}})
	if err != nil {
		return result{}, err
	}
	defer func() { _ = instance.Stop(ctx) }()
	at, err := instance.Endpoint(c.protocol)
	if err != nil {
		return result{}, err
	}
	env := workload.Env{Dir: dir, Seed: 1, Target: instance.Endpoint, Log: func(string, ...any) {}}
	kinds := catalog.All().Workloads
	l, err := kinds[slices.IndexFunc(kinds, func(k workload.Kind) bool { return k.Name == c.workload })].New(c.load)
	if err != nil {
		return result{}, err
	}
	if err := l.Prepare(ctx, env); err != nil {
		return result{}, err
	}
	var ours, theirs []float64
	for range rounds {
		out := measure.NewRecorder(nil)
		if err := l.Run(ctx, env, load.Stage{Length: turn, Interval: turn / 10, Seed: 1}, out); err != nil {
			return result{}, err
		}
		ours = append(ours, out.Values()["client.cpu_per_operation"])
		peer, err := c.ask(at)
		if err != nil {
			return result{}, err
		}
		theirs = append(theirs, peer)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	return result{c.what + ", CPU for an operation", ours[rounds/2], c.peer, theirs[rounds/2], "s"}, nil
}

func (c contest) start(ctx context.Context, env service.Env) (service.Instance, error) {
	kinds := catalog.All().Services
	s, err := kinds[slices.IndexFunc(kinds, func(k service.Kind) bool { return k.Name == c.service })].New(c.settings)
	if err != nil {
		return nil, err
	}
	if _, err := s.Check(ctx, env); err != nil {
		return nil, err
	}
	return s.Start(ctx, env)
}

// ask runs the peer once and returns its CPU time for an operation.
func (c contest) ask(at load.Endpoint) (float64, error) {
	argv := c.argv(at)
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", c.peer, err, out)
	}
	n, err := c.operations(string(out))
	if err != nil {
		return 0, err
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() / n, nil
}
