package ceph

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/platform"
	"plimsoll/internal/service/ceph/counter"
	"plimsoll/internal/service/ceph/health"
)

// readErrors is the counter of reads that the device of an OSD failed, after BlueStore had tried them again. The data then comes from another OSD, and
// the client learns nothing of it. A write that fails ends the OSD.
const readErrors = "bluestore_read_eio"

// fullness counts how often the monitor found OSDs full, and no longer so.
const fullness = `awk '/Health check failed: .*\(OSD_FULL\)/ { n++ } /Health check cleared: OSD_FULL/ { n-- } END { print n + 0 }' mon.out`

// trouble implements service.Troubled for a private cluster. An OSD or monitor that ends is found by the script that started it.
func (c *cluster) trouble(ctx context.Context) error {
	counts := map[int]float64{}
	for n := range c.daemons.osds {
		var all counter.Dump
		command := map[string]any{"prefix": "perf dump", "logger": "bluestore", "counter": readErrors}
		if c.daemons.command(ctx, osd(n), command, &all) == nil {
			counts[n] = all["bluestore"][readErrors].Count
		}
	}
	c.health.Note(counts)
	if err := c.health.Found(); err != nil {
		return err
	}
	at := c.daemons.places[0] // of the monitor
	r, err := at.machine.Run(ctx, platform.Command{Argv: []string{"sh", "-c", "cd \"$0\" && " + fullness, at.dir}})
	if err != nil || r.Exit != 0 || strings.TrimSpace(string(r.Stdout)) == "0" {
		return nil //nolint:nilerr // it is asked again
	}
	answers, err := c.monitor.Ask(ctx, "osd dump")
	if err != nil {
		return nil //nolint:nilerr // it is asked again
	}
	osds, err := health.FullOSDs(answers[0])
	if err != nil {
		return err
	}
	return health.Full(osds, "raise ceph.size or ceph.osds, or reduce storage.size or storage.disks")
}

// troubleProvided implements service.Troubled for a cluster that the user provides, whose counters are read at both ends of a load only.
func (m *foreign) troubleProvided(ctx context.Context, h *health.Watch) error {
	const every = 15 * time.Second
	if err := h.Found(); err != nil || !h.Due(every) {
		return err
	}
	answers, err := m.Ask(ctx, "osd dump")
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("the monitors of the cluster do not answer: look at ceph -s with --conf %s (%w)", m.Conf, err)
	}
	osds, err := health.FullOSDs(answers[0])
	if err != nil {
		return err
	}
	return health.Full(osds, "remove data from the cluster, or add OSDs")
}
