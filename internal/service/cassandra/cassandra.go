// Package cassandra is the service of Apache Cassandra: a private ring of one or more nodes on
// one machine, or servers that you provide.
package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// protocol is the protocol of the service.
const protocol = "cql"

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Needs:   "Java and Maven",
		Name:    "cassandra",
		Doc:     "Apache Cassandra, started for the study, or a cluster you provide",
		Speaks:  []string{protocol},
		Metrics: metrics(),
		Events:  events,
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	if s.Address == "" && s.CommitLogSync == "batch" && s.CommitLogSyncPeriod != 0 {
		return nil, errors.New("commitlog_sync_period: not for commitlog_sync batch, which syncs each write")
	}
	if s.CommitLogSync == group && time.Duration(s.CommitLogSyncPeriod) > longestGroup {
		return nil, fmt.Errorf("commitlog_sync_period %s: with commitlog_sync group each write waits for that time, also the sequential writes at start: must be at most %s", s.CommitLogSyncPeriod, longestGroup)
	}
	addresses := strings.Split(s.Address, ",")
	s.Address = strings.TrimSpace(addresses[0])
	at, err := s.Existing(s, defaults(), "", "")
	switch {
	case err != nil:
		return nil, err
	case at == nil:
		return s.private(), nil
	case at.Endpoint.Network != "tcp":
		return nil, fmt.Errorf("address %s: must be host:port", at.Endpoint.Address)
	}
	for _, address := range addresses[1:] {
		one, err := service.ParseAddress(strings.TrimSpace(address))
		if err == nil && one.Network != "tcp" {
			err = fmt.Errorf("address %s: must be host:port", one.Address)
		}
		if err != nil {
			return nil, err
		}
		at.Endpoint.More = append(at.Endpoint.More, one.Address)
	}
	at.Program, at.Version, at.Live = "cassandra", release, live
	return at, nil
}

// release is the version of a running ring, by the first node that answers: a ring with failed
// nodes can still be cleaned up.
func release(ctx context.Context, m platform.Machine, at load.Endpoint) (string, error) {
	rows, err := newClient(m, at).Ask(ctx, "SELECT release_version FROM system.local")
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
		return "", err
	}
	return rows[0][0], nil
}

// live is a running ring's description of itself.
func live(m platform.Machine, at load.Endpoint) service.Live {
	live := newClient(m, at).live()
	observe := live.Observe
	live.Observe = func(ctx context.Context) (map[string]string, error) {
		observed, err := observe(ctx)
		if err == nil && len(at.More) > 0 {
			observed["nodes"] = fmt.Sprint(1 + len(at.More))
		}
		return observed, err
	}
	return live
}

// private is a ring that plimsoll starts. It is ready when all nodes have joined.
func (s Settings) private() service.Private {
	return service.Private{
		Program: "cassandra", Find: findJava, Fits: s.fits, Ports: 3,
		Needs: service.Needs{
			Disk: 70<<20 + int64(s.Nodes)*(int64(s.CommitLogSpace)+64<<20), Time: time.Duration(s.Nodes) * 12 * time.Second,
			Versions: map[string]string{"cassandra": Release},
		},
		Daemon: func(ctx context.Context, env service.Env, found service.Found, place service.Location) (service.Daemon, error) {
			jars, err := s.locate(ctx, env.Machine)
			if err == nil {
				err = bring(ctx, env.Machine, jars, place.Dir)
			}
			if err != nil {
				return service.Daemon{}, err
			}
			return s.daemon(env.Machine, place, found.Name)
		},
	}
}

// beside is a node's memory in addition to heap and memtables.
const beside = 300 << 20

// fits finds the jars, and checks the memory of the host.
func (s Settings) fits(ctx context.Context, m platform.Machine) error {
	if _, err := s.locate(ctx, m); err != nil {
		return err
	}
	need := int64(s.Nodes) * (int64(s.Heap) + int64(s.MemtableOffheap) + beside)
	if have := service.Memory(ctx, m); have > 0 && need > int64(have)/10*9 {
		return fmt.Errorf("%d nodes with a heap of %s take about %s, but this host has %s: lower heap or nodes", s.Nodes, s.Heap, parameter.Bytes(need).About(), have.About())
	}
	return nil
}

// bring copies the jars to the folder of the instance, where its account can read them, or
// links to those for all users.
func bring(ctx context.Context, m platform.Machine, jars, dir string) error {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", `[ -d "$2" ] && exit; case $1 in /usr/*) ln -s -- "$1" "$2";; *) cp -rL -- "$1" "$2" && chmod -R a+rX -- "$2";; esac`, "sh", jars, dir + "/lib"}})
	if err == nil && r.Exit != 0 {
		err = errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("copy the jars of Cassandra: %w", err)
	}
	return nil
}

// ready checks that our ring answers, and that all nodes have joined.
func (c client) ready(ctx context.Context, cluster string, nodes int) (service.Live, error) {
	err := c.each(ctx, func(ctx context.Context, node service.SQLSession) error {
		rows, err := node.Query(ctx, "SELECT cluster_name FROM system.local")
		if err == nil && (len(rows) != 1 || rows[0][0] != cluster) {
			err = errors.New("another server answers on its port")
		}
		if err != nil || nodes == 1 {
			return err
		}
		if rows, err = node.Query(ctx, "SELECT status_with_port FROM system_views.gossip_info"); err != nil {
			return err
		}
		joined := 0
		for _, row := range rows {
			if strings.HasPrefix(row[0], "NORMAL") {
				joined++
			}
		}
		if joined != nodes {
			return fmt.Errorf("%d of %d nodes have joined", joined, nodes)
		}
		return nil
	})
	if err != nil {
		return service.Live{}, err
	}
	return c.live(), nil
}

func (c client) live() service.Live {
	return service.Live{Endpoints: map[string]load.Endpoint{protocol: c.Endpoint}, Observe: c.observe, Count: c.count, Unsettled: c.unsettled}
}
