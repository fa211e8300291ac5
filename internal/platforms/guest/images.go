package guest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/rbd"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// cluster says whether the study has a Ceph cluster.
type cluster int

const (
	noCluster cluster = iota
	awaited           // it does not run yet: VMs that answer questions have a file as their disk
	attached
	detached // it has ended
)

// images are the disks of VMs that are images of the study's cluster.
type images struct {
	machine func(ctx context.Context) (platform.Machine, error) // this host, which has the client of the cluster

	mu      sync.Mutex // guards the fields below
	state   cluster
	at      load.Endpoint
	prefix  string
	life    context.Context          // while it is attached
	end     context.CancelCauseFunc  // of its life
	sizes   map[hardware.Image]int64 // of those that were made
	running map[*machine]*qemu.Guest // with a disk there
}

func newImages(host func(ctx context.Context) (platform.Machine, error)) *images {
	return &images{machine: host, life: context.Background(), sizes: map[hardware.Image]int64{}, running: map[*machine]*qemu.Guest{}}
}

// lies says where the disk of a VM lies that boots now: it is an image, unless the settings or the state of the study want a file.
func (i *images) lies(g spec.Guest, number int) (image hardware.Image, is bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case g.Backing != spec.ImageBacking || i.state == awaited:
		return image, false, nil
	case i.state == noCluster:
		return image, false, errNoCluster
	case i.state == detached:
		return image, false, errDetached
	}
	return hardware.Image{Conf: i.at.Address, Pool: i.at.Database, Name: fmt.Sprintf("%s%02d", i.prefix, number)}, true, nil
}

// errDetached is the error of a disk in a cluster that has ended.
var errDetached = errors.New("the Ceph cluster with its disk has ended")

// errNoCluster is the error of a disk that has to be an image in a study without a cluster.
var errNoCluster = errors.New("backing image requires a cluster with images: set service: ceph")

// possible is that error for settings.
func (i *images) possible(g spec.Guest) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if g.Backing == spec.ImageBacking && i.state == noCluster {
		return errNoCluster
	}
	return nil
}

// have makes an image with an empty file system, unless it is there. The folder is for a file that is removed.
func (i *images) have(ctx context.Context, image hardware.Image, size int64, folder string) (err error) {
	if there, err := i.reserve(image, size); there || err != nil {
		return err
	}
	defer func() {
		if err != nil {
			i.mu.Lock()
			delete(i.sizes, image)
			i.mu.Unlock()
		}
	}()
	ctx, release := i.alive(ctx)
	defer release()
	pool, err := i.pool(ctx, image.Conf, image.Pool)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "image-")
	if err != nil {
		return fmt.Errorf("make the guest's disk: %w", err)
	}
	name := f.Name()
	if err := errors.Join(f.Close(), os.Remove(name), provision.MakeDisk(ctx, name, size)); err != nil {
		return err
	}
	return errors.Join(pool.Make(ctx, image.Name, name), os.Remove(name))
}

// reserve finds an image, or space for it.
func (i *images) reserve(image hardware.Image, size int64) (there bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, there := i.sizes[image]; there {
		return true, nil
	}
	sum := size
	for other, size := range i.sizes {
		if other.Pool == image.Pool && other.Conf == image.Conf {
			sum += size
		}
	}
	if i.at.Capacity > 0 && sum > i.at.Capacity {
		return false, &platform.Refused{Err: fmt.Errorf("disks of guests take %s in all, but the cluster can hold %s with its redundancy: lower guest.disk, or raise ceph.size or ceph.osds",
			parameter.Bytes(sum), parameter.Bytes(i.at.Capacity).About())}
	}
	i.sizes[image] = size
	return false, nil
}

func (i *images) pool(ctx context.Context, conf, name string) (rbd.Pool, error) {
	m, err := i.machine(ctx)
	return rbd.Pool{Machine: m, Conf: conf, Name: name}, err
}

// alive ends what waits for the cluster when that has ended.
func (i *images) alive(ctx context.Context) (context.Context, func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(i.life, func() { cancel(errDetached) })
	return ctx, func() { stop(); cancel(nil) }
}

// runs notes the QEMU of a VM with its disk in the cluster; nil once it has ended. One that comes up when the cluster has ended is killed.
func (i *images) runs(m *machine, g *qemu.Guest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if g == nil {
		delete(i.running, m)
		return
	}
	i.running[m] = g
	if i.state == detached {
		g.Kill()
	}
}

// forget removes the images of a VM that has ended for good, so that its number is free for another.
func (i *images) forget(ctx context.Context, number int) (err error) {
	i.mu.Lock()
	var own []hardware.Image
	if i.state == attached {
		for image := range i.sizes {
			if image.Name == fmt.Sprintf("%s%02d", i.prefix, number) {
				own = append(own, image)
				delete(i.sizes, image)
			}
		}
	}
	i.mu.Unlock()
	for _, image := range own {
		pool, failed := i.pool(ctx, image.Conf, image.Pool)
		if failed == nil {
			failed = pool.Remove(ctx, image.Name)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// begin has disks in a cluster at an endpoint; one without an address is awaited.
func (i *images) begin(at load.Endpoint, prefix string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if at.Address == "" {
		i.state = awaited
		return
	}
	if i.state != attached {
		i.life, i.end = context.WithCancelCause(context.Background())
	}
	i.state, i.at, i.prefix = attached, at, prefix
}

// unused reports whether no image was made yet.
func (i *images) unused() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.sizes) == 0
}

// former is what was in a cluster.
type former struct {
	running map[*machine]*qemu.Guest
	pools   []rbd.Pool // without machines
	prefix  string
	private bool
}

// finish ends the use of the cluster.
func (i *images) finish() former {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.state == attached {
		i.state = detached
		i.end(errDetached)
	}
	f := former{running: maps.Clone(i.running), prefix: i.prefix, private: i.at.Private}
	for image := range i.sizes {
		if p := (rbd.Pool{Conf: image.Conf, Name: image.Pool}); !slices.Contains(f.pools, p) {
			f.pools = append(f.pools, p)
		}
	}
	clear(i.sizes)
	return f
}
