package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/admin"
	"plimsoll/internal/service/ceph/counter"
	"plimsoll/internal/service/ceph/health"
)

// provided is a cluster that the user provides; nil without one. It is used and never changed, but for images of ours in its pool.
func (s Settings) provided() (service.Service, error) {
	at, err := service.Provided(s.Address, s, defaults(), "pool")
	switch {
	case err != nil:
		return nil, err
	case at == nil && s.Pool != "":
		return nil, errors.New("pool: it is the pool of a cluster you provide: set address to its ceph.conf, or omit pool")
	case at == nil:
		return nil, nil
	case at.Endpoint.Network != "unix":
		return nil, fmt.Errorf("address %s: must be the absolute path of a ceph.conf", s.Address)
	case s.Pool == "":
		return nil, errors.New("pool: a cluster you provide requires the pool in which images are made")
	}
	at.Program = "ceph"
	at.Endpoint.Network, at.Endpoint.Database = "ceph", s.Pool
	at.Version = version
	at.Live = func(m platform.Machine, at load.Endpoint) service.Live {
		c, all := &foreign{admin.Monitor{Machine: m, Conf: at.Address}}, &counting{}
		return service.Live{
			Endpoints: map[string]load.Endpoint{protocol: at},
			Observe:   func(ctx context.Context) (map[string]string, error) { return c.observePool(ctx, at.Database) },
			Count:     func(ctx context.Context) (map[string]float64, error) { return c.countProvided(ctx, at.Database, all) },
			Unsettled: c.unsettled,
			Trouble:   func(ctx context.Context) error { return c.troubleProvided(ctx, &all.health) },
		}
	}
	return at, nil
}

// version is that of the client, once the cluster has answered that it has the pool.
func version(ctx context.Context, m platform.Machine, at load.Endpoint) (string, error) {
	found, err := find(ctx, m, "rbd", "ceph")
	if err != nil {
		return "", err
	}
	c := admin.Monitor{Machine: m, Conf: at.Address}
	answers, err := c.Ask(ctx, "osd pool ls")
	if err != nil {
		return "", fmt.Errorf("query the cluster of %s: %w", at.Address, err)
	}
	var pools []string
	if err := json.Unmarshal(answers[0], &pools); err != nil {
		return "", fmt.Errorf("query the pools of the cluster of %s: %w", at.Address, err)
	}
	if !slices.Contains(pools, at.Database) {
		return "", fmt.Errorf("the cluster of %s has no pool %q; it has %s", at.Address, at.Database, strings.Join(pools, ", "))
	}
	return found.Version, nil
}

// observePool reads the settings of a pool, and adds the name of the pool.
func (m *foreign) observePool(ctx context.Context, name string) (map[string]string, error) {
	answers, err := m.Ask(ctx, "osd pool get "+name+" all")
	if err != nil {
		return nil, err
	}
	var p poolSettings
	if err := json.Unmarshal(answers[0], &p); err != nil {
		return nil, fmt.Errorf("parse the settings of pool %s: %w", name, err)
	}
	observed := p.levels()
	if p.Profile != "" { // its chunks are in the profile
		delete(observed, "redundancy")
	}
	observed["pool"] = name
	return observed, nil
}

// countProvided reads the counters of all OSDs that answer, through the monitor. What their processes use is not known.
func (m *foreign) countProvided(ctx context.Context, pool string, all *counting) (map[string]float64, error) {
	dumps, r, err := m.dumps(ctx)
	if err != nil {
		return nil, err
	}
	read := map[int]map[string]float64{}
	failed := map[int]float64{}
	for n, d := range dumps {
		read[n], failed[n] = map[string]float64{}, d["bluestore"][readErrors].Count
		d.Take(read[n])
	}
	if len(read) == 0 {
		return nil, fmt.Errorf("read the counters of the OSDs: none answers: status %d: %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	all.health.Note(failed)
	counters := all.totals.Add(read, nil)
	delete(counters, counter.Stored) // of all pools
	delete(counters, counter.Allocated)
	answers, err := m.Ask(ctx, "df detail", "osd dump", "status")
	if err != nil {
		return nil, err
	}
	if is, ok := poolSpace(answers[0], pool); ok {
		counters[counter.Stored], counters[counter.Allocated] = is.stored, is.allocated
	}
	is, err := health.Of(answers[1], answers[2], all.epoch)
	if err != nil {
		return nil, err
	}
	all.epoch, counters[counter.Down] = is.Epoch, is.Down
	if is.Known {
		counters[counter.Degraded] = all.worst.Turn(is.Groups)
	}
	countLimits(ctx, m.Machine, m.Conf, pool, counters)
	return counters, nil
}

// foreign is a cluster that the user provides.
type foreign struct{ admin.Monitor }

// counting is what is kept from one reading of counters to the next.
type counting struct {
	totals counter.Totals
	worst  health.Worst
	health health.Watch
	epoch  int // of the map of OSDs
}

// dumps are the performance counters of all OSDs that answer.
func (m *foreign) dumps(ctx context.Context) (all map[int]counter.Dump, r platform.Result, err error) {
	if r, err = m.Run(ctx, "", "tell", "osd.*", "perf", "dump"); err != nil {
		return nil, r, fmt.Errorf("read the counters of the OSDs: %w", err)
	}
	all = map[int]counter.Dump{}
	for line := range strings.Lines(string(r.Stdout)) {
		name, text, _ := strings.Cut(line, ": ")
		number, is := strings.CutPrefix(name, "osd.")
		n, err := strconv.Atoi(number)
		var d counter.Dump
		if is && err == nil && json.Unmarshal([]byte(text), &d) == nil {
			all[n] = d
		}
	}
	return all, r, nil
}

// poolSpace reads what a pool takes from the answer to df detail: what the manager of the cluster counts every few seconds, if there is one.
func poolSpace(df []byte, pool string) (is space, ok bool) {
	var used struct {
		Pools []struct {
			Name  string `json:"name"`
			Stats struct {
				Stored    float64 `json:"stored_raw"` // with all copies
				Allocated float64 `json:"bytes_used"`
			} `json:"stats"`
		} `json:"pools"`
	}
	if json.Unmarshal(df, &used) != nil {
		return is, false
	}
	for _, p := range used.Pools {
		if p.Name == pool {
			return space{p.Stats.Stored, p.Stats.Allocated}, p.Stats.Stored > 0
		}
	}
	return is, false
}

// unsettled are the placement groups that recover, among others. A cluster that lost redundancy and does nothing about it has nothing left to do.
func (m *foreign) unsettled(ctx context.Context) (string, error) {
	answers, err := m.Ask(ctx, "osd dump", "status")
	if err != nil {
		return "", err
	}
	is, err := health.Of(answers[0], answers[1], 0)
	return strings.Join(is.Moving, ", "), err
}
