package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/group"
)

// merging is how long a snapshot may take until it is removed again.
const merging = 5 * time.Minute

// Operate implements platform.Operator.
func (t *testbed) Operate(ctx context.Context, operation string, on platform.Machine, like platform.Group) error {
	if operation == platform.Deploy {
		like.Machines = 1
		settings, err := group.Settings(like, t.settings, t.grouped)
		if err != nil {
			return err
		}
		return t.vms.Deploy(ctx, like, t.taking(settings.Guest))
	}
	if m, ok := on.(*machine); ok && operation == platform.Snapshot {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), merging) // half a removal leaves an overlay
		defer cancel()
		return m.snapshot(ctx)
	}
	return &platform.Refused{Err: fmt.Errorf("platform %s has no operation %s", machineName, operation)}
}

// snapshot takes a snapshot of the disk that workloads write to, and merges it again. Of several at once, one waits for the other.
func (m *machine) snapshot(ctx context.Context) error {
	m.snapshots.Lock()
	defer m.snapshots.Unlock()
	r, err := m.up(ctx)
	if err != nil {
		return err
	}
	var all []libvirt.Overlay
	var others []string
	for i, name := range hardware.Targets(r.disks) {
		if r.disks[i].ReadOnly {
			others = append(others, name)
			continue
		}
		o := libvirt.Overlay{Disk: name, File: m.home.File("overlay-" + name + ".qcow2")}
		if _, err := os.Lstat(o.File); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take a snapshot of %s: %s of an earlier one is there: start the guest again, and remove it", m.Name(), o.File)
		}
		all = append(all, o)
	}
	of := libvirt.Instance{Conn: r.conn, Domain: r.domain}
	if err := of.TakeSnapshot(ctx, all, others); err != nil {
		return errors.Join(err, remove(all)) // they were not there before, and no disk uses them
	}
	var failed error
	for _, o := range all {
		err := of.Merge(ctx, o)
		if err == nil {
			err = os.Remove(o.File)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// remove removes files of overlays where they are.
func remove(all []libvirt.Overlay) (err error) {
	for _, o := range all {
		if failed := os.Remove(o.File); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}
