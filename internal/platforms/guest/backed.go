package guest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// imageProtocol is the protocol of services that have images: an endpoint has the path of a ceph.conf as its address and a pool as its database.
const imageProtocol = "rbd"

// host is this host as a machine, opened when it is first needed.
type host struct {
	kind platform.Kind
	mu   sync.Mutex
	open platform.Platform // nil before
}

func (h *host) machine(ctx context.Context) (platform.Machine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		var err error
		if h.open, err = h.kind.Open(ctx, nil, 0); err != nil {
			return nil, err
		}
	}
	return h.open.Machine(), nil
}

func (h *host) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		return nil
	}
	return h.open.Close()
}

// Host is this host, with a folder beside those of the VMs.
func (t *testbed) Host(ctx context.Context) (platform.Machine, string, error) {
	m, err := t.host.machine(ctx)
	return m, t.home.File("host"), err
}

// Attach has VMs that boot from now on have images of a cluster as their disks.
func (t *testbed) Attach(ctx context.Context, at load.Endpoint, prefix string) error {
	if err := t.chooseImages(); err != nil {
		return err
	}
	if at.Address == "" {
		t.images.begin(at, prefix)
		if t.study.Backing == spec.FileBacking {
			return nil
		}
		return qemu.HasImages(ctx)
	}
	if !at.Private && t.images.unused() { // those of a session of the run that died
		if err := t.Clear(ctx, at, prefix); err != nil {
			return err
		}
	}
	t.images.begin(at, prefix)
	return nil
}

// chooseImages has disks be images where the settings leave that open.
func (t *testbed) chooseImages() error {
	choose := func(g *spec.Guest) error {
		if g.Backing == spec.AutoBacking {
			g.Backing = spec.ImageBacking
		}
		_, err := g.Shape(machineName)
		return err
	}
	if err := choose(&t.study); err != nil {
		return err
	}
	return t.vms.First().Reshape(choose)
}

// Detach ends VMs whose disks are images, and removes the images from a cluster that plimsoll did not start. Where the cluster has died, VMs are killed:
// what they have written would never get there.
func (t *testbed) Detach(ctx context.Context, died bool) (err error) {
	was := t.images.finish()
	if died {
		for _, g := range was.running {
			g.Kill()
		}
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, goodbye)
	defer cancel()
	var ending sync.WaitGroup
	errs := make(chan error, len(was.running))
	for m := range was.running {
		ending.Go(func() { errs <- m.leave(limit) })
	}
	ending.Wait()
	close(errs)
	for failed := range errs {
		err = errors.Join(err, failed)
	}
	for _, p := range was.pools {
		if !was.private {
			err = errors.Join(err, t.clear(ctx, p.Conf, p.Name, was.prefix))
		}
	}
	return err
}

// Clear removes images whose names begin with a prefix.
func (t *testbed) Clear(ctx context.Context, at load.Endpoint, prefix string) error {
	return t.clear(ctx, at.Address, at.Database, prefix)
}

func (t *testbed) clear(ctx context.Context, conf, name, prefix string) error {
	pool, err := t.images.pool(ctx, conf, name)
	if err != nil {
		return err
	}
	return pool.Clear(ctx, prefix)
}

// Claims are the memory of the VM and of QEMU, without huge pages, and the size of its disk if that is to be an image.
func (m *machine) Claims(further parameter.Settings) (memory, stored int64, err error) {
	g := m.Spec()
	if err := parameter.Decode(&g, further); err != nil {
		return 0, 0, err
	}
	if g.Backing == spec.ImageBacking {
		stored = int64(g.DiskSize)
	}
	return m.slot.claim(g).Resident(), stored, nil
}

// leave powers the VM off if its disk is an image. It boots again when it is needed.
func (m *machine) leave(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil || m.running.image == (hardware.Image{}) {
		return nil
	}
	if err := m.down(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", described(m.Name()), err)
	}
	return nil
}
