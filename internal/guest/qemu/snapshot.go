package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/qmp"
)

// Snapshot takes a snapshot of all writable disks at one point in time, without memory, and removes it again. Meanwhile the running guest writes
// to overlays, whose data is then merged into the disks. Of several at once, one waits for the other. A guest without a writable disk is refused.
// After an error of the merge the guest goes on with its overlays until it stops, and has no other snapshot.
func (g *Guest) Snapshot(ctx context.Context) error {
	g.snapshots.Lock()
	defer g.snapshots.Unlock()
	layers := g.overlays()
	if len(layers) == 0 {
		return fmt.Errorf("take a snapshot of guest %s: it has no writable disk", g.Name())
	}
	var actions []any
	for _, o := range layers {
		if _, err := os.Lstat(o.file); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take a snapshot of guest %s: %s of an earlier one is there: start the guest again, and remove it", g.Name(), o.file)
		}
		actions = append(actions, map[string]any{"type": "blockdev-snapshot-sync", "data": map[string]any{
			"node-name": o.disk, "snapshot-file": o.file, "snapshot-node-name": o.node, "format": "qcow2",
		}})
	}
	if err := g.monitor.Execute(ctx, "transaction", map[string]any{"actions": actions}, nil); err != nil {
		for _, o := range layers {
			_ = os.Remove(o.file) // it was not there before, and no disk uses it
		}
		return fmt.Errorf("take a snapshot of guest %s: %w", g.Name(), err)
	}
	var all error
	for _, o := range layers {
		if err := o.merge(ctx, g.monitor); err != nil {
			all = errors.Join(all, fmt.Errorf("remove the snapshot of %s of guest %s: %w", o.disk, g.Name(), err))
		}
	}
	return all
}

// overlay is where the guest writes to instead of a disk that has a snapshot.
type overlay struct{ disk, node, file string }

// overlays are those of the writable disks, beside their files where they have some.
func (g *Guest) overlays() (all []overlay) {
	for i, d := range g.shape.Disks {
		if d.ReadOnly {
			continue
		}
		dir := g.wiring.Dir
		if d.Backing == hardware.BackingFile {
			dir = filepath.Dir(d.File(g.wiring))
		}
		node := fmt.Sprintf("overlay%d", i)
		all = append(all, overlay{fmt.Sprintf("disk%d", i), node, filepath.Join(dir, g.Name()+"-"+node+".qcow2")})
	}
	return all
}

// merge writes the data of the overlay to the disk, to which the guest returns.
func (o overlay) merge(ctx context.Context, m *qmp.Monitor) error {
	since := m.Mark()
	if err := m.Execute(ctx, "block-commit", map[string]any{"job-id": o.node, "device": o.node}, nil); err != nil {
		return err
	}
	for _, state := range []string{"BLOCK_JOB_READY", "BLOCK_JOB_COMPLETED"} {
		e, _, err := m.Await(ctx, since, func(e qmp.Event) bool { return o.job(e) && (e.Name == state || e.Name != "BLOCK_JOB_READY") })
		if err != nil {
			return fmt.Errorf("wait for %s: %w", state, err)
		}
		if err := jobError(e); err != nil {
			return err
		}
		if state == "BLOCK_JOB_READY" {
			if err := m.Execute(ctx, "block-job-complete", map[string]any{"device": o.node}, nil); err != nil {
				return err
			}
		}
	}
	return os.Remove(o.file)
}

// job reports whether an event is of the merge, and tells of its state.
func (o overlay) job(e qmp.Event) bool {
	var d struct {
		Device string `json:"device"`
	}
	switch e.Name {
	case "BLOCK_JOB_READY", "BLOCK_JOB_COMPLETED", "BLOCK_JOB_CANCELLED":
		return json.Unmarshal(e.Data, &d) == nil && d.Device == o.node
	}
	return false
}

// jobError is why a job failed.
func jobError(e qmp.Event) error {
	var d struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	switch {
	case d.Error != "":
		return errors.New(d.Error)
	case e.Name == "BLOCK_JOB_CANCELLED":
		return errors.New("the merge was cancelled")
	}
	return nil
}
