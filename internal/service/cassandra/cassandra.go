// Package cassandra is the service of Apache Cassandra: a private ring of nodes on one
// machine, mostly of one, or servers that already run.
package cassandra

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// protocol is what the service speaks.
const protocol = "cql"

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Name:    "cassandra",
		Doc:     "a private Apache Cassandra, or one that already runs",
		Speaks:  []string{protocol},
		Metrics: metrics(),
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	if s.Address == "" {
		for name, value := range map[string]string{"user": s.User, "password": s.Password, "ca": s.CA} {
			if value != "" {
				return nil, fmt.Errorf("%s is for a server that already runs: give its address as well, or leave it out", name)
			}
		}
		if s.CommitLogSync == "batch" && s.CommitLogSyncPeriod != defaults().CommitLogSyncPeriod {
			return nil, errors.New("commitlog_sync_period: with commitlog_sync batch there is none, each write is synced")
		}
		return &private{s}, nil
	}
	if err := service.Free(s, defaults(), "user", "password", "ca"); err != nil {
		return nil, err
	}
	if s.Password != "" && !strings.HasPrefix(s.Password, "env:") && !strings.HasPrefix(s.Password, "file:") {
		return nil, errors.New("password: give a reference, env:NAME or file:PATH, not the password itself")
	}
	var at load.Endpoint
	for i, one := range strings.Split(s.Address, ",") {
		e, err := service.ParseAddress(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		if e.Network != "tcp" {
			return nil, fmt.Errorf("address %s: Cassandra listens at host:port", one)
		}
		if i == 0 {
			at = e
		} else {
			at.More = append(at.More, e.Address)
		}
	}
	at.User, at.Secret = s.User, s.Password
	if s.CA != "" {
		var err error
		if at.CA, err = os.ReadFile(s.CA); err != nil {
			return nil, fmt.Errorf("read ca: %w", err)
		}
	}
	return &foreign{at}, nil
}

// private is a ring that plimsoll starts.
type private struct{ settings Settings }

// beside is what a node takes beside its heap and its memtables.
const beside = 300 << 20

// Check looks for Java and the jars, and whether the memory of the host bears the
// nodes.
func (p *private) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	found, err := findJava(ctx, env.Machine)
	if err != nil {
		return service.Needs{}, err
	}
	if _, err := p.locate(ctx, env.Machine); err != nil {
		return service.Needs{}, err
	}
	s := p.settings
	need := int64(s.Nodes) * (int64(s.Heap) + int64(s.MemtableOffheap) + beside)
	if have := memory(ctx, env); have > 0 && need > int64(have)/10*9 {
		return service.Needs{}, fmt.Errorf("%d nodes with a heap of %s take about %d MiB, and this host has %s: lower heap or nodes", s.Nodes, s.Heap, need>>20, have)
	}
	return service.Needs{
		Disk: 70<<20 + int64(s.Nodes)*(int64(s.CommitLogSpace)+64<<20), Time: time.Duration(s.Nodes) * 12 * time.Second,
		Versions: map[string]string{"cassandra": Release, "java": found.Version},
	}, nil
}

// Start starts the nodes on free ports, and returns when all have joined.
func (p *private) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	found, err := findJava(ctx, env.Machine)
	if err != nil {
		return nil, err
	}
	jars, err := p.locate(ctx, env.Machine)
	if err != nil {
		return nil, err
	}
	return service.Started(service.Launch(ctx, env, service.Recipe{
		Name: "cassandra", Ports: 3, Ordinary: true,
		Daemon: func(place service.Place) (service.Daemon, error) {
			if err := bring(ctx, env.Machine, jars, place.Dir); err != nil {
				return service.Daemon{}, err
			}
			return p.daemon(env.Machine, place, found.Name), nil
		},
	}))
}

// bring copies the jars to the folder of the instance, where its account can read them.
func bring(ctx context.Context, m platform.Machine, jars, dir string) error {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", `[ -d "$2" ] || cp -rL -- "$1" "$2" && chmod -R a+rX -- "$2"`, "sh", jars, dir + "/lib"}})
	if err == nil && r.Exit != 0 {
		err = errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("copy the jars of Cassandra: %w", err)
	}
	return nil
}

// ready asks the last node, which starts when the others have, whether all are there.
func (c client) ready(ctx context.Context, cluster string, nodes int) (service.Live, error) {
	last := c
	if n := len(c.endpoint.More); n > 0 {
		last.endpoint.Address = c.endpoint.More[n-1]
	}
	rows, err := last.ask(ctx, "SELECT cluster_name FROM system.local")
	if err != nil {
		return service.Live{}, err
	}
	if len(rows) != 1 || rows[0][0] != cluster {
		return service.Live{}, errors.New("another server answers on its port")
	}
	if rows, err = last.ask(ctx, "SELECT peer FROM system.peers_v2"); err != nil {
		return service.Live{}, err
	}
	if len(rows) != nodes-1 {
		return service.Live{}, fmt.Errorf("%d of %d nodes have joined", len(rows)+1, nodes)
	}
	return c.live(), nil
}

func (c client) live() service.Live {
	return service.Live{Endpoints: map[string]load.Endpoint{protocol: c.endpoint}, Observe: c.observe, Count: c.count, Unsettled: c.unsettled}
}

// foreign is a ring that already runs.
type foreign struct{ endpoint load.Endpoint }

// Check asks the first server for its version.
func (f *foreign) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	rows, err := client{env.Machine, f.endpoint}.ask(ctx, "SELECT release_version FROM system.local")
	if err != nil {
		return service.Needs{}, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return service.Needs{}, fmt.Errorf("what listens at %s does not tell its version", f.endpoint.Address)
	}
	return service.Needs{Versions: map[string]string{"cassandra": rows[0][0]}}, nil
}

// Start looks that the server answers.
func (f *foreign) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	if _, err := f.Check(ctx, env); err != nil {
		return nil, err
	}
	c := client{env.Machine, f.endpoint}
	live := c.live()
	live.Observe = func(ctx context.Context) (map[string]string, error) {
		observed, err := c.observe(ctx)
		if err == nil {
			observed["address"] = strings.Join(append([]string{f.endpoint.Address}, f.endpoint.More...), ",")
		}
		return observed, err
	}
	return service.Use(live), nil
}

// client asks a server a question at a time, each in a session of its own.
type client struct {
	machine  platform.Machine // from which it is asked
	endpoint load.Endpoint
}

// asking is a session with one server.
type asking struct {
	*cql.Conn
	address string
}

func (c client) open(ctx context.Context) (asking, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := service.Dial(ctx, c.machine, c.endpoint)
	if err != nil {
		return asking{}, err
	}
	place := cql.Place{Network: c.endpoint.Network, Address: c.endpoint.Address, User: c.endpoint.User, Secret: c.endpoint.Secret, CA: c.endpoint.CA}
	session, err := cql.Greet(ctx, conn, place)
	if err != nil {
		return asking{}, fmt.Errorf("ask the server at %s: %w", c.endpoint.Address, err)
	}
	return asking{session, c.endpoint.Address}, nil
}

func (a asking) close() { a.Conn.Close() }

// patience is how long a server may take to answer.
const patience = 10 * time.Second

func (a asking) ask(ctx context.Context, text string) ([][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rows, err := a.Query(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("ask the server at %s: %w", a.address, err)
	}
	return rows, nil
}

// ask asks the first server one question.
func (c client) ask(ctx context.Context, text string) ([][]string, error) {
	session, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	defer session.close()
	return session.ask(ctx, text)
}
