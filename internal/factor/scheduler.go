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

const schedulerWords = "block scheduler"

// Scheduler is the scheduler of a block device. It is read back from the
// device's queue. Without a target it is that of the device below the scratch
// folder; where that is a volume on one disk, such as LVM's, of the disk, which
// is where requests are scheduled.
func Scheduler() Factor {
	file := func(ctx context.Context, p Place) (string, error) {
		d, err := device(ctx, p)
		if err == nil && p.Target == "" {
			d, err = bottom(ctx, p.Machine, d)
		}
		return d.Folder + "/queue/scheduler", err
	}
	return Factor{
		Root:    true,
		Name:    "host.scheduler",
		Doc:     "I/O scheduler of a block device",
		Target:  "block device",
		Example: []string{"none", "mq-deadline"},
		Offers: func(ctx context.Context, p Place) ([]string, error) {
			name, err := file(ctx, p)
			if err != nil {
				return nil, err
			}
			_, offered, err := chosen(ctx, p.Machine, name, schedulerWords)
			return offered, err
		},
		Get: func(ctx context.Context, p Place) (string, error) {
			name, err := file(ctx, p)
			if err != nil {
				return "", err
			}
			now, _, err := chosen(ctx, p.Machine, name, schedulerWords)
			return now, err
		},
		Set: func(ctx context.Context, p Place, level string) error {
			name, err := file(ctx, p)
			if err != nil {
				return err
			}
			return write(ctx, p.Machine, name, schedulerWords, level)
		},
		Effect: func(ctx context.Context, p Place) (Effect, error) {
			name, err := file(ctx, p)
			if err != nil {
				return Effect{}, err
			}
			return queueEffect(ctx, p.Machine, path.Dir(name))
		},
	}
}

// queueEffect is that of the scheduler of a queue: each brings settings of its own, and the kernel sets the depth of the queue and the throttling of writes for it.
// Read-ahead stays as it is.
func queueEffect(ctx context.Context, m platform.Machine, queue string) (Effect, error) {
	files, err := below(ctx, m, queue, queue+"/iosched")
	own := []string{queue + "/scheduler", queue + "/read_ahead_kb", queue + "/iosched"}
	return Effect{
		Sets:    own[:1],
		Coupled: slices.DeleteFunc(files, func(name string) bool { return slices.Contains(own, name) }),
	}, err
}

// device is the target, or the device below the scratch folder.
func device(ctx context.Context, p Place) (platform.Device, error) {
	if p.Target != "" {
		return platform.DeviceNamed(ctx, p.Machine, p.Target)
	}
	return platform.DeviceUnder(ctx, p.Machine, p.Dir)
}

// bottom goes down through volumes that lie on one device each.
func bottom(ctx context.Context, m platform.Machine, top platform.Device) (platform.Device, error) {
	for at := top; ; {
		r, err := m.Run(ctx, platform.Command{Argv: []string{"ls", at.Folder + "/slaves"}})
		if err != nil {
			return at, fmt.Errorf("devices below %s: %w", at.Name, err)
		}
		if err := r.Killed("ls"); err != nil {
			return at, fmt.Errorf("devices below %s: %w", at.Name, err)
		}
		switch below := strings.Fields(string(r.Stdout)); len(below) {
		case 0:
			return at, nil
		case 1:
			if at, err = platform.DeviceNamed(ctx, m, below[0]); err != nil {
				return at, err
			}
		default:
			return at, fmt.Errorf("%s lies on several devices; name one of them as host.scheduler:%s: %w", top.Name, strings.Join(below, ", host.scheduler:"), errors.ErrUnsupported)
		}
	}
}
