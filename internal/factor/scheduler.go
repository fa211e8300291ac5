package factor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/platform"
)

// Scheduler is the I/O scheduler of a block device, read back from the device's queue. The
// default target is the device of the scratch folder; for a volume on one disk, such as LVM's,
// it is the disk, where requests are scheduled.
func Scheduler() Factor {
	path := func(ctx context.Context, p Env) (string, error) {
		d, err := device(ctx, p)
		if err == nil && p.Target == "" {
			d, err = bottom(ctx, p.Machine, d)
		}
		return d.Folder + "/queue/scheduler", err
	}
	return file{words: called("block scheduler"), choice: true, path: path}.factor(Factor{
		Root:    true,
		Name:    "host.scheduler",
		Doc:     "I/O scheduler of a block device",
		Target:  "block device",
		Example: []string{"none", "mq-deadline"},
		// Without a scheduler, requests are neither sorted nor merged after they were queued.
		Holds: []Hold{{Counter: "disk.read.operations", Pinned: "none"}, {Counter: "disk.write.operations", Pinned: "none"}},
		Effect: func(ctx context.Context, p Env) (Effect, error) {
			name, err := path(ctx, p)
			if err != nil {
				return Effect{}, err
			}
			return queueEffect(ctx, p.Machine, strings.TrimSuffix(name, "/scheduler"))
		},
	})
}

// queueEffect is the effect of a scheduler: each has settings of its own, and the kernel sets
// queue depth and write throttling for it. Read-ahead is not affected.
func queueEffect(ctx context.Context, m platform.Machine, queue string) (Effect, error) {
	files, err := Below(ctx, m, queue, queue+"/iosched")
	own := []string{queue + "/scheduler", queue + "/read_ahead_kb", queue + "/iosched"}
	return Effect{
		Sets:    own[:1],
		Coupled: slices.DeleteFunc(files, func(name string) bool { return slices.Contains(own, name) }),
	}, err
}

// device is the target, or the device below the scratch folder.
func device(ctx context.Context, p Env) (platform.Device, error) {
	if p.Target != "" {
		return platform.DeviceNamed(ctx, p.Machine, p.Target)
	}
	return platform.DeviceUnder(ctx, p.Machine, p.Dir)
}

// bottom goes down through volumes that lie on one device each.
func bottom(ctx context.Context, m platform.Machine, top platform.Device) (platform.Device, error) {
	for at := top; ; {
		slaves, err := Below(ctx, m, at.Folder+"/slaves")
		if err != nil {
			return at, err
		}
		for i, name := range slaves {
			slaves[i] = path.Base(name)
		}
		switch len(slaves) {
		case 0:
			return at, nil
		case 1:
			if at, err = platform.DeviceNamed(ctx, m, slaves[0]); err != nil {
				return at, err
			}
		default:
			return at, fmt.Errorf("%s lies on several devices; specify one of them as host.scheduler:%s: %w", top.Name, strings.Join(slaves, ", host.scheduler:"), errors.ErrUnsupported)
		}
	}
}
