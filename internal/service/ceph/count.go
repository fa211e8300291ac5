package ceph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/service/ceph/counter"
)

// countPrivate reads the counters of a private cluster at one end of a window.
func (c *cluster) countPrivate(ctx context.Context) (map[string]float64, error) {
	all, answered, err := c.countOSDs(ctx)
	if err != nil {
		return nil, err
	}
	if n, err := c.daemons.lackingCopies(ctx, answered); err == nil {
		all[counter.Degraded] = c.worst.Turn(n)
	}
	return all, nil
}

// countOSDs reads the counters of all OSDs that answer.
func (c *cluster) countOSDs(ctx context.Context) (all map[string]float64, answered []int, err error) {
	read, pids := map[int]map[string]float64{}, map[int]string{}
	var trouble error
	for n := range c.daemons.osds {
		one, pid, err := c.countOne(ctx, n)
		if err != nil {
			trouble = errors.Join(trouble, err)
			continue
		}
		read[n], pids[n] = one, pid
	}
	if len(read) == 0 {
		return nil, nil, trouble
	}
	all = c.totals.Add(read, pids)
	is := c.space.of(space{all[counter.Stored], all[counter.Allocated]})
	all[counter.Stored], all[counter.Allocated] = is.stored, is.allocated
	all[counter.Down] = float64(c.daemons.osds - len(read))
	c.mu.Lock()
	pool := c.policy
	c.mu.Unlock()
	at := c.daemons.places[0]
	countLimits(ctx, at.machine, path.Join(at.dir, pool.confFile()), pool.name(), all)
	return all, slices.Sorted(maps.Keys(read)), c.network.count(ctx, all)
}

// countOne reads the counters of an OSD.
func (c *cluster) countOne(ctx context.Context, n int) (all map[string]float64, pid string, err error) {
	var d counter.Dump
	if err := c.daemons.ask(ctx, osd(n), "perf dump", &d); err != nil {
		return nil, "", err
	}
	at := c.daemons.of(n)
	text, err := at.machine.ReadFile(ctx, path.Join(at.dir, osd(n)+".pid"))
	if err != nil {
		return nil, "", fmt.Errorf("find the process of %s: %w", osd(n), err)
	}
	all, pid = map[string]float64{}, strings.TrimSpace(string(text))
	d.Take(all)
	return all, pid, counter.Usage(ctx, at.machine, pid, all)
}
