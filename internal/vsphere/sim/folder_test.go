package sim_test

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/folder"
)

// Who looks at the files of a clone finds its folder, however it looks.
func TestFoldersOfClonesAreThereForWhoLooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{simple()}, Listen: "127.0.0.1:0", Plain: true, User: "operator", Password: "secret", Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{t, connect(t, s), context.Background()}
	name, _ := b.some()
	is := b.see(b.vm(name))
	at := ""
	for name, ref := range named(t, b.Client, "Datastore") {
		if ref == is.Datastore[0] {
			at = name
		}
	}
	finder := find.NewFinder(b.Client.Client)
	finder.SetDatacenter(sure(finder.DefaultDatacenter(b.ctx)))
	store := sure(finder.Datastore(b.ctx, at))
	parent := object.NewFolder(b.Client.Client, *is.Parent)
	clone := func(as string) *object.VirtualMachine {
		info := b.done(b.vm(name).Clone(b.ctx, parent, as, types.VirtualMachineCloneSpec{}))
		return object.NewVirtualMachine(b.Client.Client, info.Result.(types.ManagedObjectReference))
	}
	onDisk := func(name string) (found bool) {
		if err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
			found = found || filepath.Base(p) == name
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	searched := clone("searched")
	browser := sure(store.Browser(b.ctx))
	b.done(browser.SearchDatastore(b.ctx, "["+at+"] searched", &types.HostDatastoreBrowserSearchSpec{}))
	clone("saved")
	if _, err := s.Checkpoint(io.Discard); err != nil {
		t.Error(err)
	}
	if !onDisk("saved") {
		t.Error("the folder of a clone is not there when the state is saved")
	}
	unseen := clone("unseen")
	b.done(unseen.Destroy(b.ctx))
	clone("later")
	if _, err := object.NewSearchIndex(b.Client.Client).FindByUuid(b.ctx, nil, "none", true, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"searched", "later"} {
		if !onDisk(name) {
			t.Errorf("there is no file %s", name)
		}
	}
	b.done(searched.Destroy(b.ctx))
	for _, name := range []string{"searched", "unseen"} {
		if onDisk(name) {
			t.Errorf("the file %s outlives its VM", name)
		}
	}
}

// Requests for files find the folders, and calls of the API do not make them.
func TestFoldersAreThereForRequestsForFiles(t *testing.T) {
	t.Parallel()
	f, dir := folder.New(), filepath.Join(t.TempDir(), "web")
	f.Plan(dir)
	handler := f.Files(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(dir); err != nil {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	for _, c := range []struct {
		path string
		want int
	}{{"/sdk", http.StatusNotFound}, {"/folder/web/web.vmx", http.StatusOK}} {
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, httptest.NewRequest(http.MethodPut, c.path, nil)); w.Code != c.want {
			t.Errorf("%s: status %d, want %d", c.path, w.Code, c.want)
		}
	}
	if f.Drop(dir) {
		t.Error("a folder that was made counts as planned")
	}
}
