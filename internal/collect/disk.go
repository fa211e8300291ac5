package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/platform"
)

// Disk counts the I/O of the block device of the scratch folder.
func Disk() Source {
	return Source{
		Name: "disk",
		Doc:  "I/O of the block device of the scratch folder, and of all, from /proc/diskstats",
		Counters: []Counter{
			cumulative("disk.read.operations", "1/s", "reads completed"),
			cumulative("disk.write.operations", "1/s", "writes completed"),
			cumulative("disk.read.bytes", "B/s", "bytes read from the device"),
			cumulative("disk.write.bytes", "B/s", "bytes written to the device"),
			cumulative("disk.read.merges", "1/s", "reads merged with a queued one"),
			cumulative("disk.write.merges", "1/s", "writes merged with a queued one"),
			cumulative("disk.busy", "1", "device utilisation: share of time with requests in flight"),
			cumulative("disk.queue", "1", "mean queue length: requests in flight"),
			cumulative("disk.flushes", "1/s", "cache flush requests completed"),
			gauge("disk.read.latency", "s", "mean time from the queueing of a read to its completion"),
			gauge("disk.write.latency", "s", "mean time from the queueing of a write to its completion"),
			gauge("disk.flush.latency", "s", "mean time of a cache flush"),
			gauge("disks.busiest", "1", "utilisation of the busiest block device of the host"),
			cumulative("disks.read.bytes", "B/s", "bytes read from all block devices"),
			cumulative("disks.write.bytes", "B/s", "bytes written to all block devices"),
		},
		Needs: []string{"disks"},
		Host: func(ctx context.Context, p Env) (Flatten, error) {
			d, err := platform.DeviceUnder(ctx, p.Machine, p.Dir)
			if err != nil {
				return nil, err
			}
			if on, err := p.Machine.ReadFile(ctx, d.Folder+"/queue/iostats"); err == nil && string(bytes.TrimSpace(on)) == "0" {
				return nil, fmt.Errorf("%s does not count operations of %s (%s/queue/iostats is 0): %w", p.Machine.Name(), d.Name, d.Folder, errors.ErrUnsupported)
			}
			return func(i *hoststat.Interval, values map[string]float64) { flattenDisks(i, d.Name, values) }, nil
		},
	}
}

// sector is the unit of sizes of block devices in bytes, whatever the device's sector size.
const sector = 512

func flattenDisks(i *hoststat.Interval, name string, values map[string]float64) {
	for n := range i.Disks {
		d := &i.Disks[n]
		values["disks.busiest"] = max(values["disks.busiest"], d.Busy)
		values["disks.read.bytes"] += d.ReadBytes
		values["disks.write.bytes"] += d.WriteBytes
		if d.Name != name {
			continue
		}
		values["disk.read.operations"], values["disk.write.operations"], values["disk.flushes"] = d.Reads, d.Writes, d.Flushes
		values["disk.read.bytes"], values["disk.write.bytes"] = d.ReadBytes, d.WriteBytes
		values["disk.read.merges"], values["disk.write.merges"] = d.ReadMerges, d.WriteMerges
		values["disk.busy"], values["disk.queue"] = d.Busy, d.QueueTime
		for _, kind := range []struct {
			name        string
			count, time float64
		}{{"read", d.Reads, d.ReadTime}, {"write", d.Writes, d.WriteTime}, {"flush", d.Flushes, d.FlushTime}} {
			if kind.count > 0 {
				values["disk."+kind.name+".latency"] = kind.time / kind.count
			}
		}
	}
}
