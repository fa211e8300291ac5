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

	"plimsoll/bench/measured"
	"plimsoll/bench/minimal"
	"plimsoll/internal/catalog"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
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
	// request is what the client in C asks for; empty where it takes no part.
	request string
	inC     minimal.Client
}

// firstPage is a request for the page of a web server.
const firstPage = "GET /0/page.html HTTP/1.1\r\nHost: plimsoll\r\n\r\n"

func contests() []contest {
	redis := func(pipeline int, request string) contest {
		const n = 300_000
		return contest{
			what: fmt.Sprintf("key-value, pipeline %d", pipeline), service: "redis", protocol: "redis", workload: "keyvalue", peer: "redis-benchmark",
			load: parameter.Settings{"read": "100%", "keys": "10000", "value": "256B", "connections": "50", "threads": "1", "pipeline": strconv.Itoa(pipeline)},
			argv: func(at load.Endpoint) []string {
				return []string{"redis-benchmark", "-p", port(at), "-c", "50", "-n", strconv.Itoa(n * min(pipeline, 4)), "-t", "get", "-d", "256", "-r", "10000", "-P", strconv.Itoa(pipeline), "-q"}
			},
			operations: func(string) (float64, error) { return float64(n * min(pipeline, 4)), nil },
			request:    request,
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
			operations: counted(`(\d+) requests in`),
			request:    firstPage,
		},
		redis(1, "*2\r\n$3\r\nGET\r\n$19\r\nplimsoll:0000000001\r\n"), redis(16, ""),
	}
}

// counted finds the number of operations in what a peer prints.
func counted(pattern string) func(string) (float64, error) {
	return func(out string) (float64, error) {
		m := regexp.MustCompile(pattern).FindStringSubmatch(out)
		if m == nil {
			return 0, fmt.Errorf("no number of operations, %s, in: %s", pattern, out)
		}
		return strconv.ParseFloat(m[1], 64)
	}
}

// loads holds the CPU time that the load generator takes for an operation against
// that of its peers, on the same server, turn by turn.
func loads() ([]result, error) {
	var all []result
	inC, failed := minimal.Compile()
	defer inC.Remove()
	for _, c := range contests() {
		c.inC = inC
		some, err := c.one(context.Background())
		all, failed = append(all, some...), errors.Join(failed, err)
	}
	return all, failed
}

func (c contest) run(ctx context.Context) (all []result, err error) {
	l, err := made(c.workload, c.load)
	if err != nil {
		return nil, err
	}
	err = c.serve(ctx, func(env workload.Env, at load.Endpoint) error {
		if err := l.Prepare(ctx, env); err != nil {
			return err
		}
		var ours, theirs, least []float64
		for range rounds {
			out := measure.NewRecorder(nil)
			if err := l.Run(ctx, env, load.Stage{Length: turn, Interval: turn / 10, Seed: 1}, out); err != nil {
				return err
			}
			peer, err := c.ask(at)
			if err != nil {
				return err
			}
			ours, theirs = append(ours, out.Values()["client.cpu_per_operation"]), append(theirs, peer)
			if least, err = c.minimal(at, least); err != nil {
				return err
			}
		}
		what := c.what + ", CPU for an operation"
		all = append(all, result{what, measured.Middle(ours), c.peer, measured.Middle(theirs), "s"})
		if len(least) > 0 {
			all = append(all, result{what, measured.Middle(ours), "C", measured.Middle(least), "s"},
				result{what + " in C", measured.Middle(least), c.peer, measured.Middle(theirs), "s"})
		}
		return nil
	})
	return all, err
}

// one is the contest on its own, where its peer is installed.
func (c contest) one(ctx context.Context) ([]result, error) {
	if _, err := exec.LookPath(c.peer); err != nil {
		return nil, fmt.Errorf("%s is not installed, so that there is no peer for %s", c.peer, c.what)
	}
	all, err := c.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.what, err)
	}
	return all, nil
}

// minimal adds the CPU time for an operation of the client in C to costs, where it takes part.
func (c contest) minimal(at load.Endpoint, costs []float64) ([]float64, error) {
	if c.request == "" || c.inC == (minimal.Client{}) {
		return costs, nil
	}
	connections, err := strconv.Atoi(c.load["connections"])
	if err != nil {
		return costs, err
	}
	cost, err := c.inC.Run(minimal.Load{Port: port(at), Request: c.request, Connections: connections, Length: turn})
	return append(costs, cost), err
}

// port is the port of a server of this machine.
func port(at load.Endpoint) string { return at.Address[strings.LastIndexByte(at.Address, ':')+1:] }

// serve runs the service of a contest for as long as something is done with it.
func (c contest) serve(ctx context.Context, do func(workload.Env, load.Endpoint) error) (err error) {
	p, err := local.Kind().Open(ctx, nil, 1)
	if err != nil {
		return err
	}
	defer p.Close()
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // some servers refuse to run as root
		return err
	}
	instance, err := c.start(ctx, service.Env{Machine: p.Machine(), Dir: dir + "/service", Seed: 1, Log: func(string, ...any) {}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Stop(ctx)) }()
	at, err := instance.Endpoint(c.protocol)
	if err != nil {
		return err
	}
	return do(workload.Env{Dir: dir, Seed: 1, Target: instance.Endpoint, Log: func(string, ...any) {}}, at)
}

// made is a load of the catalog.
func made(name string, settings parameter.Settings) (workload.Load, error) {
	kinds := catalog.All().Workloads
	return kinds[slices.IndexFunc(kinds, func(k workload.Kind) bool { return k.Name == name })].New(settings)
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
