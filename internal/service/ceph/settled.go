package ceph

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/platform"
	"plimsoll/internal/service/ceph/counter"
)

// groupState is the state of a placement group in an OSD.
type groupState struct {
	Name      string `json:"pg"` // such as 3.1f, with the number of the pool
	Currently string `json:"currently"`
}

// clean is the state of a placement group in its primary OSD that is whole.
const clean = "Active/Clean"

// primary is the state of a placement group that an OSD is the primary of.
func (g groupState) primary() (state string, is bool) {
	return strings.CutPrefix(g.Currently, "Started/Primary/")
}

// groupStates are the placement groups of an OSD.
func (d *daemons) groupStates(ctx context.Context, n int) ([]groupState, error) {
	var history struct {
		Groups []groupState `json:"pgs"`
	}
	err := d.ask(ctx, osd(n), "dump_pgstate_history", &history)
	return history.Groups, err
}

// clean counts the placement groups of a pool that are whole.
func (d *daemons) clean(ctx context.Context, pool int) (count int, err error) {
	for n := range d.osds {
		all, err := d.groupStates(ctx, n)
		if err != nil {
			return 0, err
		}
		for _, g := range all {
			if state, primary := g.primary(); primary && state == clean && strings.HasPrefix(g.Name, strconv.Itoa(pool)+".") {
				count++
			}
		}
	}
	return count, nil
}

// degraded reports OSDs that do not answer, of those that should, and placement groups that are not clean: they recover, among others.
func (d *daemons) degraded(ctx context.Context, osds []int) (string, error) {
	var down []string
	states := map[string]int{}
	for _, n := range osds {
		all, err := d.groupStates(ctx, n)
		if err != nil {
			if ctx.Err() != nil {
				return "", err
			}
			down = append(down, osd(n))
			continue
		}
		for _, g := range all {
			if state, primary := g.primary(); primary && state != clean {
				states[state[strings.LastIndexByte(state, '/')+1:]]++
			}
		}
	}
	var busy []string
	if len(down) > 0 {
		busy = append(busy, "no answer from "+strings.Join(down, " and "))
	}
	for state, n := range states {
		busy = append(busy, fmt.Sprintf("%d placement groups in state %s", n, state))
	}
	slices.Sort(busy)
	return strings.Join(busy, ", "), nil
}

// unsettled reports what OSDs have left to do: placement groups that are not clean, deferred writes, or compaction of RocksDB.
func (d *daemons) unsettled(ctx context.Context) (string, error) {
	if busy, err := d.degraded(ctx, d.all()); busy != "" || err != nil {
		return busy, err
	}
	for _, busy := range []func(context.Context) (string, error){d.deferring, d.compacting} {
		if what, err := busy(ctx); what != "" || err != nil {
			return what, err
		}
	}
	return "", nil
}

// deferring reports OSDs with deferred writes outstanding, of which the throttle holds the cost (BlueStore::BlueStoreThrottle). Without load they are
// written after bluestore_max_defer_interval, 3 s.
func (d *daemons) deferring(ctx context.Context) (string, error) {
	var all []string
	for n := range d.osds {
		var counters counter.Dump
		if err := d.ask(ctx, osd(n), "perf dump", &counters); err != nil {
			return "", err
		}
		if counters["throttle-bluestore_throttle_deferred_bytes"]["val"].Count > 0 {
			all = append(all, osd(n))
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	return "deferred writes in " + strings.Join(all, " and "), nil
}

// jobs counts the flushes of memtables and compactions that have begun and not ended, by the events that RocksDB logs. An OSD that starts anew has none.
const jobs = `awk '/ process ceph-osd, pid / { n[FILENAME] = 0 }
/"event": "(flush|compaction)_started"/ { n[FILENAME]++ }
/"event": "(flush|compaction)_finished"/ { n[FILENAME]-- }
END { for (name in n) if (n[name] > 0) print name }' osd.*.out`

// compacting reports OSDs whose RocksDB flushes or compacts. No counter of the admin socket says so: compact_queue_len is that of compactions on request,
// and the statistics of RocksDB are off, because they slow it down.
func (d *daemons) compacting(ctx context.Context) (string, error) {
	var all []string
	for _, at := range d.places {
		r, err := at.machine.Run(ctx, platform.Command{Argv: []string{"sh", "-c", "cd \"$0\" && " + jobs, at.dir}})
		if err == nil && r.Exit != 0 {
			err = fmt.Errorf("status %d: %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
		}
		if err != nil {
			return "", fmt.Errorf("read the logs of OSDs for compactions: %w", err)
		}
		all = append(all, strings.Fields(strings.ReplaceAll(string(r.Stdout), ".out", ""))...)
	}
	if len(all) == 0 {
		return "", nil
	}
	slices.Sort(all)
	return "compaction in " + strings.Join(all, " and "), nil
}
