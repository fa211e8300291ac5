package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/platform"
)

// Disk counts the I/O of the block device of the scratch folder.
func Disk() Source {
	return Source{
		Name: "disk",
		Doc:  "I/O of the block device of the scratch folder, from /sys/block",
		Counters: []Counter{
			cumulative("disk.read.operations", "1/s", "reads completed"),
			cumulative("disk.write.operations", "1/s", "writes completed"),
			cumulative("disk.read.bytes", "B/s", "bytes read from the device"),
			cumulative("disk.write.bytes", "B/s", "bytes written to the device"),
			cumulative("disk.busy", "1", "device utilisation: share of time with requests in flight"),
			cumulative("disk.queue", "1", "mean queue length: requests in flight"),
			cumulative("disk.flushes", "1/s", "cache flush requests completed"),
		},
		Open: func(ctx context.Context, p Env) (Read, error) {
			d, err := platform.DeviceUnder(ctx, p.Machine, p.Dir)
			if err != nil {
				return nil, err
			}
			if on, err := p.Machine.ReadFile(ctx, d.Folder+"/queue/iostats"); err == nil && string(bytes.TrimSpace(on)) == "0" {
				return nil, fmt.Errorf("%s does not count operations of %s (%s/queue/iostats is 0): %w", p.Machine.Name(), d.Name, d.Folder, errors.ErrUnsupported)
			}
			return fromFile(d.Folder+"/stat", "counts of "+d.Name, parseDisk)(ctx, p)
		},
	}
}

// sector is the unit of the counts in bytes, whatever the device's sector size.
const sector = 512

// parseDisk parses the fields in the order of the kernel's Documentation/block/stat.rst.
// Flushes exist since Linux 5.5.
func parseDisk(text []byte) (map[string]float64, error) {
	f := numbers(text, make([]float64, 0, 17))
	if len(f) < 11 {
		return nil, fmt.Errorf("%d fields instead of at least 11", len(f))
	}
	values := map[string]float64{
		"disk.read.operations":  f[0],
		"disk.read.bytes":       f[2] * sector,
		"disk.write.operations": f[4],
		"disk.write.bytes":      f[6] * sector,
		"disk.busy":             f[9] / 1000,
		"disk.queue":            f[10] / 1000,
	}
	if len(f) > 15 {
		values["disk.flushes"] = f[15]
	}
	return values, nil
}
