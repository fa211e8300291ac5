package guest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// client is this host with a client of a cluster that has images.
type client struct {
	platform.Machine
	ran    []string
	images string
	hangs  chan struct{} // closed when a command hangs; nil for none
}

// hosting is the platform of that host.
type hosting struct{ on *client }

func (h hosting) Machine() platform.Machine { return h.on }
func (h hosting) Close() error              { return nil }

func (c *client) Run(ctx context.Context, k platform.Command) (platform.Result, error) {
	_, command, _ := strings.Cut(strings.Join(k.Argv, " "), " rbd --pool ")
	c.ran = append(c.ran, command)
	if c.hangs != nil {
		close(c.hangs)
		<-ctx.Done()
		return platform.Result{}, context.Cause(ctx)
	}
	if k.Stdin != nil {
		if _, err := io.Copy(io.Discard, k.Stdin); err != nil {
			return platform.Result{}, err
		}
	}
	return platform.Result{Stdout: []byte(c.images)}, nil
}

// unbooted is a platform of which nothing boots.
func unbooted(t *testing.T, g spec.Guest) (*testbed, *client) {
	t.Helper()
	c := &client{images: "[]"}
	b, err := newTestbed(supply.Supply{}, g, platform.Kind{Open: func(context.Context, parameter.Settings, uint64) (platform.Platform, error) { return hosting{c}, nil }}, platform.Kind{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, c
}

func defaults() spec.Guest { return kind().Defaults.(spec.Guest) }

// The disk is an image from the time at which the cluster runs until it ends, where the settings do not want a file.
func TestWhereTheDiskIs(t *testing.T) {
	b, _ := unbooted(t, defaults())
	m := b.vms.First()
	where := func(want string) {
		t.Helper()
		image, is, err := b.images.lies(m.Spec(), 7)
		got := "file"
		if is {
			got = image.Conf + " " + image.Pool + "/" + image.Name
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	where("file")
	b.images.begin(load.Endpoint{}, "")
	if err := b.chooseImages(); err != nil || m.Spec().Backing != spec.ImageBacking || b.study.Backing != spec.ImageBacking {
		t.Errorf("%v, backing %s", err, m.Spec().Backing)
	}
	where("file") // to answer questions
	if err := b.Attach(t.Context(), load.Endpoint{Address: "/c.conf", Database: "pool", Private: true}, "plimsoll-x-"); err != nil {
		t.Fatal(err)
	}
	where("/c.conf pool/plimsoll-x-07")
	if claim := m.slot.claim(m.Spec()); claim.Disk != 0 {
		t.Errorf("an image takes %d bytes of the disk of this host", claim.Disk)
	}
	if err := m.Reshape(func(g *spec.Guest) error { g.Backing = spec.FileBacking; return nil }); err != nil {
		t.Fatal(err)
	}
	where("file")
	if claim := m.slot.claim(m.Spec()); claim.Disk != 4<<30 {
		t.Errorf("a file takes %d bytes of the disk of this host", claim.Disk)
	}
	if err := m.Reshape(func(g *spec.Guest) error { g.Backing = spec.ImageBacking; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := b.Detach(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	where("the Ceph cluster with its disk has ended")
	if _, err := m.instance(t.Context()); err == nil || !strings.Contains(err.Error(), "boot the guest: the Ceph cluster with its disk has ended") {
		t.Errorf("%v", err)
	}
}

// Settings of files do not go with images, and images not without a cluster.
func TestImagesAreRefused(t *testing.T) {
	for want, change := range map[string]func(g *spec.Guest){
		"":                      func(*spec.Guest) {},
		"set backing: file, or": func(g *spec.Guest) { g.AIO = "native" },
		"io_filter null: its server serves files": func(g *spec.Guest) { g.IOFilter, g.Cache = "null", "writeback" },
	} {
		g := defaults()
		change(&g)
		b, _ := unbooted(t, g)
		if err := b.chooseImages(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
		g.Backing = spec.FileBacking
		b, _ = unbooted(t, g)
		if err := b.chooseImages(); err != nil || b.study.Backing != spec.FileBacking {
			t.Errorf("a file: %v, %s", err, b.study.Backing)
		}
	}
	b, _ := unbooted(t, defaults())
	m := b.vms.First()
	g := m.Spec()
	g.Backing = spec.ImageBacking
	if err := m.Limits(g); !errors.Is(err, errNoCluster) {
		t.Errorf("%v", err)
	}
	if err := m.Reshape(func(g *spec.Guest) error { g.Backing = spec.ImageBacking; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := m.instance(t.Context()); !errors.Is(err, errNoCluster) {
		t.Errorf("%v", err)
	}
	if err := kind().Possible(parameter.Settings{"backing": "image", "aio": "native"}); err == nil || !strings.Contains(err.Error(), "aio native") {
		t.Errorf("%v", err)
	}
}

// Images that the cluster cannot hold are refused for good. Those of other pools do not count.
func TestImagesFit(t *testing.T) {
	b, c := unbooted(t, defaults())
	b.images.begin(load.Endpoint{Address: "/c", Database: "a", Private: true, Capacity: 3 << 30}, "p-")
	image := func(pool, name string) hardware.Image { return hardware.Image{Conf: "/c", Pool: pool, Name: name} }
	for _, i := range []hardware.Image{image("a", "p-01"), image("b", "p-01")} {
		if there, err := b.images.reserve(i, 2<<30); there || err != nil {
			t.Errorf("%v: %v, %v", i, there, err)
		}
	}
	_, err := b.images.reserve(image("a", "p-02"), 2<<30)
	if refused := (*platform.Refused)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "disks of guests take 4GiB in all, but the cluster can hold 3.00GiB with its redundancy: lower guest.disk") {
		t.Errorf("%v", err)
	}
	if there, err := b.images.reserve(image("a", "p-01"), 2<<30); !there || err != nil {
		t.Errorf("one that is there: %v, %v", there, err)
	}
	if err := b.images.forget(t.Context(), 1); err != nil || len(b.images.sizes) != 0 {
		t.Errorf("%v, %v", err, b.images.sizes)
	}
	slices.Sort(c.ran)
	if want := []string{"a rm --no-progress p-01", "b rm --no-progress p-01"}; !slices.Equal(c.ran, want) {
		t.Errorf("%q", c.ran)
	}
}

// Images are made with a file system, and removed from a cluster that is not ours: at the end, and those of a dead session of the run.
func TestImagesOfAnotherCluster(t *testing.T) {
	b, c := unbooted(t, defaults())
	c.images = `["p-01","theirs"]`
	if err := b.Attach(t.Context(), load.Endpoint{Address: "/etc/ceph.conf", Database: "pool"}, "p-"); err != nil {
		t.Fatal(err)
	}
	image, _, err := b.images.lies(b.vms.First().Spec(), 1)
	if err == nil {
		err = b.images.have(t.Context(), image, 64<<20, b.home.Path)
	}
	if err == nil {
		err = b.images.have(t.Context(), image, 64<<20, b.home.Path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(b.home.Path, "image-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := b.Detach(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pool ls --format json", "pool rm --no-progress p-01", "pool create --size 67108864B --image-feature layering p-01", "pool import-diff --no-progress - p-01",
		"pool ls --format json", "pool rm --no-progress p-01",
	}
	if !slices.Equal(c.ran, want) {
		t.Errorf("%q", c.ran)
	}
	if err := b.Detach(t.Context(), false); err != nil || len(c.ran) != len(want) {
		t.Errorf("a second time: %v, %q", err, c.ran[len(want):])
	}
	if info, err := os.Stat(b.home.Path); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("the folder with the cluster cannot be reached by its daemons: %v, %v", info.Mode(), err)
	}
}

// What waits for a cluster ends with it.
func TestAClusterThatDies(t *testing.T) {
	b, c := unbooted(t, defaults())
	if err := b.Attach(t.Context(), load.Endpoint{Address: "/c", Database: "pool", Private: true}, "p-"); err != nil {
		t.Fatal(err)
	}
	c.hangs = make(chan struct{})
	failed := make(chan error)
	go func() {
		failed <- b.images.have(t.Context(), hardware.Image{Conf: "/c", Pool: "pool", Name: "p-01"}, 64<<20, b.home.Path)
	}()
	<-c.hangs
	if err := b.Detach(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, errDetached) || len(b.images.sizes) != 0 {
		t.Errorf("%v, %v", err, b.images.sizes)
	}
}

// A VM takes its memory and that of QEMU, and of the cluster as much as its disk if that is to be an image, with levels of factors.
func TestClaims(t *testing.T) {
	g := defaults()
	g.Memory, g.DiskSize, g.Backing = 256<<20, 2<<30, spec.FileBacking
	b, _ := unbooted(t, g)
	for _, c := range []struct {
		further        parameter.Settings
		memory, stored int64
	}{
		{nil, 320 << 20, 0},
		{parameter.Settings{"backing": "image"}, 320 << 20, 2 << 30},
		{parameter.Settings{"backing": "image", "disk": "3GiB", "memory": "1GiB"}, 1088 << 20, 3 << 30},
		{parameter.Settings{"huge_pages": "2MiB"}, 64 << 20, 0},
	} {
		memory, stored, err := b.vms.First().Claims(c.further)
		if memory != c.memory || stored != c.stored || err != nil {
			t.Errorf("%v: %d and %d bytes, want %d and %d, %v", c.further, memory, stored, c.memory, c.stored, err)
		}
	}
	if _, _, err := b.vms.First().Claims(parameter.Settings{"memory": "much"}); err == nil {
		t.Error("a level that is no size is accepted")
	}
}
