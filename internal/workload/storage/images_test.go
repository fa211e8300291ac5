package storage

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// clustered is an environment with a Ceph cluster.
func clustered(m platform.Machine, capacity int64) workload.Env {
	e := env(m)
	e.Target = func(asked string) (load.Endpoint, error) {
		if asked != protocol {
			return load.Endpoint{}, errors.New("the service does not speak " + asked)
		}
		return load.Endpoint{Network: "ceph", Address: "/run/ceph.conf", Database: "pool", Capacity: capacity}, nil
	}
	return e
}

func TestDisksAreImagesOfTheService(t *testing.T) {
	e := clustered(&fake{}, 0)
	d := made(t, parameter.Settings{"disks": "2", "read": "70%"}).at(e)
	on, err := d.places(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(d.pattern.cluster.in(d.pattern.command(on, load.Stage{Length: time.Second, Interval: time.Second})), " ")
	prefix := imagePrefix(e)
	for _, want := range []string{
		"env -u CEPH_ARGS CEPH_CONF=/run/ceph.conf fio --ioengine=rbd ", "--name=disk-01 --clientname=admin --pool=pool --rbdname=" + prefix + "01 ", "--name=disk-02 --clientname=admin --pool=pool --rbdname=" + prefix + "02 ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	elsewhere := e
	elsewhere.Dir += "2"
	if imagePrefix(elsewhere) == prefix || !strings.HasPrefix(prefix, "plimsoll-") {
		t.Errorf("loads in two folders both call their images %s", prefix)
	}
	if d := made(t, nil).at(env(&fake{})); d.pattern.cluster != nil {
		t.Error("a study without a service has a cluster")
	}
}

func TestRefusedImages(t *testing.T) {
	e := clustered(&fake{}, 1<<30)
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"engine": "libaio", "depth": "4"}, "engine libaio cannot reach the images of a Ceph cluster"},
		{parameter.Settings{"through": "null"}, "through null: plimsoll's server serves files only"},
		{parameter.Settings{"targets": `["/dev/sdz"]`, "backing": "file"}, "backing file and targets exclude each other"},
		{parameter.Settings{"engine": "rbd", "backing": "file"}, "engine rbd cannot reach files"},
		{parameter.Settings{"targets": `["/dev/sdz"]`}, "targets: the disks are images of the Ceph cluster"},
	} {
		refused(t, refuseImages(&made(t, c.settings).at(e).pattern), c.want)
	}
	refused(t, refuseImages(&made(t, parameter.Settings{"backing": "image"}).at(env(&fake{})).pattern), "backing image requires a service with images")
	refused(t, refuseImages(&made(t, parameter.Settings{"engine": "rbd"}).at(env(&fake{})).pattern), "engine rbd requires a service with images")
	e = clustered(&fake{files: map[string]string{"/run/ceph.conf": ""}}, 1<<30)
	err := made(t, parameter.Settings{"disks": "3", "size": "512MiB"}).at(e).refuseCluster(t.Context(), e)
	refused(t, err, "3 images of 512MiB need 1536MiB", "reduce storage.size")
	var refusal *workload.Refused
	if !errors.As(err, &refusal) {
		t.Errorf("%v is not a refusal", err)
	}
	if err := made(t, parameter.Settings{"disks": "2", "size": "512MiB"}).at(e).refuseCluster(t.Context(), e); err != nil {
		t.Error(err)
	}
	e = clustered(&fake{}, 0)
	refused(t, made(t, nil).at(e).refuseCluster(t.Context(), e), "machine fake has no /run/ceph.conf, which leads to the Ceph cluster")
}

// Images of two pools have the same name. What lies on one says nothing of the other.
func TestImagesOfTwoPools(t *testing.T) {
	e := clustered(&fake{commands: map[string]platform.Result{}}, 0)
	list := prints(`[{"image":"` + imageName(e, 0) + `","size":536870912}]`)
	e.Machine.(*fake).commands["env -u CEPH_ARGS CEPH_CONF=/run/ceph.conf rbd --pool pool ls --long --format json"] = list
	e.Machine.(*fake).commands["env -u CEPH_ARGS CEPH_CONF=/run/ceph.conf rbd --pool other ls --long --format json"] = list
	d := made(t, nil).at(e)
	on, err := d.places(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	have := manifest{Disks: map[string]layout{d.entry(on[0]): d.layout(e, on[0])}}
	for pool, want := range map[string]int{"pool": 0, "other": 1} {
		d.pattern.cluster.Database = pool
		if lacking, err := d.lacking(t.Context(), e, on, have); err != nil || len(lacking) != want {
			t.Errorf("%s: %d images lack, want %d, %v", pool, len(lacking), want, err)
		}
	}
}

// Beside images, a load may have files of the host as its disks; what is cleaned is both.
func TestFilesBesideImages(t *testing.T) {
	f := &fake{commands: map[string]platform.Result{}}
	e := clustered(f, 0)
	files := made(t, parameter.Settings{"backing": "file", "depth": "4"})
	if on := files.at(e); on.pattern.cluster != nil || on.pattern.engine() != "libaio" || backing(&on.pattern) != "file" {
		t.Errorf("on %+v with %s", on.pattern.cluster, on.pattern.engine())
	}
	if on := made(t, parameter.Settings{"backing": "image"}).at(e); on.pattern.engine() != "rbd" || backing(&on.pattern) != "image" {
		t.Errorf("images with %s", on.pattern.engine())
	}
	_ = files.Clean(t.Context(), e)
	if !slices.ContainsFunc(f.asked, func(command string) bool { return strings.HasSuffix(command, "ls --long --format json") }) {
		t.Errorf("images are not looked for: %q", f.asked)
	}
}

// Only images that a load made are removed, and those of a private cluster are left to go with it.
func TestCleaningRemovesOwnImagesOnly(t *testing.T) {
	f := &fake{commands: map[string]platform.Result{}}
	e := clustered(f, 0)
	own := imagePrefix(e)
	const rbd = "env -u CEPH_ARGS CEPH_CONF=/run/ceph.conf rbd --pool pool "
	const list = rbd + "ls --long --format json"
	f.commands[list] = prints(`[{"image":"` + own + `01","size":1},{"image":"somebody","size":1},{"image":"` + own + `03","size":1}]`)
	f.commands[rbd+"rm --no-progress "+own+"01"] = prints("")
	f.commands[rbd+"rm --no-progress "+own+"03"] = prints("")
	d := made(t, nil).at(e)
	if err := d.pattern.cluster.removeImages(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.asked, "\n"); got != list+"\n"+rbd+"rm --no-progress "+own+"01\n"+rbd+"rm --no-progress "+own+"03" {
		t.Errorf("asked for\n%s", got)
	}
	delete(f.commands, list) // the cluster does not answer
	if err := d.pattern.cluster.removeImages(t.Context(), e); err == nil {
		t.Error("images that may be there count as removed")
	}
	d.pattern.cluster.Private = true
	if err := d.pattern.cluster.removeImages(t.Context(), e); err != nil {
		t.Error(err)
	}
}

// A machine without the configuration of the cluster gets it, at a path that the load removes.
func TestConfigurationOfAClusterElsewhere(t *testing.T) {
	on := here(t)
	on.Target = func(string) (load.Endpoint, error) {
		return load.Endpoint{Network: "ceph", Address: "/on/the/server.conf", Database: "pool", Private: true, Config: []byte("[global]\n")}, nil
	}
	d := made(t, nil).at(on)
	if err := d.refuseCluster(t.Context(), on); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(on.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	have, err := readManifest(t.Context(), on)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.pattern.cluster.configure(t.Context(), on, &have); err != nil {
			t.Fatal(err)
		}
	}
	file := on.Dir + "/ceph-pool.conf"
	if text, err := os.ReadFile(file); err != nil || string(text) != "[global]\n" {
		t.Errorf("%q, %v", text, err)
	}
	if got := d.pattern.cluster.in([]string{"fio"}); !slices.Contains(got, "CEPH_CONF="+file) {
		t.Errorf("fio is run as %q", got)
	}
	on.Target = nil // the service has ended
	if err := made(t, nil).Clean(t.Context(), on); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(on.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", on.Dir, err)
	}
}
