package ceph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"plimsoll/internal/platform"
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
	all = c.totals.total(read, pids)
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

// totals are the counters of all OSDs.
type totals struct {
	mu   sync.Mutex
	last map[int]map[string]float64 // by OSD: its counters when they were read last
	lost map[string]float64         // those of former processes of OSDs
	pids map[int]string             // of the processes that they are of; empty where these are not known
}

// total adds up the counters of the OSDs that answered. One that did not keeps those it had, and one that started anew
// goes on from those, so that no sum runs backwards.
func (c *totals) total(read map[int]map[string]float64, pids map[int]string) map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last, c.lost, c.pids = map[int]map[string]float64{}, map[string]float64{}, map[int]string{}
	}
	before := maps.Clone(c.last)
	for n, one := range read {
		if was, known := c.last[n]; known && pids[n] != c.pids[n] || one["ceph.commits.count"] < was["ceph.commits.count"] {
			for name, v := range was {
				if !gauge(name) {
					c.lost[name] += v
				}
			}
		}
		c.last[n], c.pids[n] = one, pids[n]
	}
	all := maps.Clone(c.lost)
	for n, one := range c.last {
		for name, v := range one {
			if _, answered := read[n]; answered || !gauge(name) {
				all[name] += v
			}
		}
	}
	all[counter.Up] = float64(len(read))
	if n, by, ok := outlier(before, c.last); ok {
		all[counter.Slowest], all[counter.SlowestBy] = float64(n), by
	}
	return all
}

// gauge reports whether a metric of an OSD is a level and not a count.
func gauge(metric string) bool {
	return slices.Contains([]string{counter.Resident, counter.Stored, counter.Allocated}, metric)
}

// outlier is the OSD with the slowest commits or reads of its device between two readings, and how many times as slow as the median they were.
func outlier(before, after map[int]map[string]float64) (osd int, ratio float64, ok bool) {
	for _, stage := range []string{"ceph.commits", "ceph.device_reads"} {
		if n, by, known := outlierOf(stage, before, after); known && (!ok || by > ratio) {
			osd, ratio, ok = n, by, true
		}
	}
	return osd, ratio, ok
}

// outlierOf is the slowest OSD at one stage.
func outlierOf(stage string, before, after map[int]map[string]float64) (osd int, ratio float64, ok bool) {
	const least = 10 // of the stage
	var all []float64
	most := 0.0
	for _, n := range slices.Sorted(maps.Keys(after)) {
		count := after[n][stage+".count"] - before[n][stage+".count"]
		mean := (after[n][stage+".time"] - before[n][stage+".time"]) / count
		if count < least || mean <= 0 {
			continue
		}
		if all = append(all, mean); mean > most {
			osd, most = n, mean
		}
	}
	if len(all) < 3 {
		return 0, 0, false
	}
	slices.Sort(all)
	return osd, most / all[(len(all)-1)/2], true
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
	return all, pid, usage(ctx, at.machine, pid, all)
}

// usage adds what a process used: CPU time, memory, and I/O of its block device, which it does directly.
func usage(ctx context.Context, m platform.Machine, pid string, all map[string]float64) error {
	stat, err := m.ReadFile(ctx, "/proc/"+pid+"/stat")
	if err != nil {
		return fmt.Errorf("read the CPU time of an OSD: %w", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const user, system, pages, ticks = 11, 12, 21, 100 // fields counted from the state
	if len(fields) <= pages {
		return fmt.Errorf("read the CPU time of an OSD: /proc/%s/stat has %d fields", pid, len(fields))
	}
	number := func(text string) float64 {
		v, _ := strconv.ParseFloat(text, 64)
		return v
	}
	all[counter.CPU] = (number(fields[user]) + number(fields[system])) / ticks
	all[counter.Resident] = number(fields[pages]) * page(ctx, m)
	io, err := m.ReadFile(ctx, "/proc/"+pid+"/io")
	if err != nil {
		return nil //nolint:nilerr // a container may keep root from the I/O of another user's processes
	}
	for line := range strings.Lines(string(io)) {
		switch name, text, _ := strings.Cut(strings.TrimSpace(line), ": "); name {
		case "write_bytes":
			all[counter.DeviceWrite] = number(text)
		case "read_bytes":
			all[counter.DeviceRead] = number(text)
		}
	}
	if all[counter.DeviceWrite] == 0 { // a file system in memory counts nothing
		delete(all, counter.DeviceWrite)
		delete(all, counter.DeviceRead)
	}
	return nil
}

// page is the size of a page of memory on the machine, in bytes.
func page(ctx context.Context, m platform.Machine) float64 {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"getconf", "PAGESIZE"}})
	if n, failed := strconv.ParseFloat(strings.TrimSpace(string(r.Stdout)), 64); err == nil && failed == nil {
		return n
	}
	return 4096
}
