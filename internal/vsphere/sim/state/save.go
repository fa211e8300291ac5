package state

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/collector"
)

// Source is a simulator to save or to load. It does not serve meanwhile.
type Source struct {
	Service *simulator.Service
	Tags    any    // the handler of tags
	Folder  string // of the datastores
	Begun   uint64 // tasks
	// Unregistered are unregistered VMs, by the paths of their files.
	Unregistered map[string]simulator.VirtualMachine
	Policies     []byte            // storage policies, in their own form
	Events       []types.BaseEvent // the latest, the oldest first
}

// Save writes the state of a simulator, and returns the names of files that are too large to
// save.
func Save(to io.Writer, of Source) (left []string, err error) {
	packed, _ := gzip.NewWriterLevel(to, gzip.BestSpeed) // the level is valid
	w := writer{tar.NewWriter(packed)}
	if err := w.all(of, &left); err != nil {
		return nil, err
	}
	return left, errors.Join(w.tar.Close(), packed.Close())
}

type writer struct{ tar *tar.Writer }

func (w writer) entry(name string, text []byte) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := w.tar.Write(text)
	return err
}

func (w writer) all(of Source, left *[]string) error {
	h := header{Format: format, Saved: time.Now().UTC(), Instance: of.content().About.InstanceUuid, Folder: of.Folder, Begun: of.Begun}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := w.entry(headerName, text); err != nil {
		return err
	}
	for _, o := range of.objects() {
		var c types.ObjectContent
		ok := false
		of.reg().WithLock(of.context(), o, func() { c, ok = collector.Content(o) })
		if !ok {
			continue
		}
		text, err := encode(forget(c))
		if err != nil {
			return fmt.Errorf("encode %s: %w", c.Obj, err)
		}
		if err := w.entry(objectsDir+c.Obj.Type+"/"+c.Obj.Value+".xml", text); err != nil {
			return err
		}
	}
	held, err := of.parts()
	if err != nil {
		return err
	}
	if text, err = encode(held); err != nil {
		return fmt.Errorf("encode what the managers hold: %w", err)
	}
	if err := w.entry(partName, text); err != nil {
		return err
	}
	if err := w.entry(policyName, of.Policies); err != nil {
		return err
	}
	if err := w.files(of.Folder, left); err != nil {
		return fmt.Errorf("save the files of datastores: %w", err)
	}
	return w.entry(endName, nil)
}

// forget removes what the next round of DRS creates again, and tasks that are not kept.
func forget(c types.ObjectContent) types.ObjectContent {
	c.PropSet = slices.DeleteFunc(c.PropSet, func(p types.DynamicProperty) bool {
		return p.Name == "recommendation" || p.Name == "drsRecommendation" || p.Name == "drsFault" || p.Name == "recentTask"
	})
	return c
}

func (of Source) content() types.ServiceContent {
	s, _ := of.reg().Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if s == nil {
		return types.ServiceContent{}
	}
	return s.Content
}

func (of Source) reg() *simulator.Registry { return of.Service.Context.Map }

// objects are those of the inventory, ordered by reference.
func (of Source) objects() (list []mo.Reference) {
	single := map[types.ManagedObjectReference]bool{vim25.ServiceInstance: true}
	for _, ref := range mo.References(of.content()) {
		single[ref] = ref != of.content().RootFolder
	}
	for _, o := range of.reg().AllReference("") {
		ref := o.Reference()
		if _, is := made(ref.Type); is && !single[ref] {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b mo.Reference) int {
		x, y := a.Reference(), b.Reference()
		return cmp.Or(strings.Compare(x.Type, y.Type), cmp.Compare(len(x.Value), len(y.Value)), strings.Compare(x.Value, y.Value))
	})
	return list
}

// files writes the files of the datastores.
func (w writer) files(folder string, left *[]string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == "." || !d.IsDir() && !d.Type().IsRegular():
			return nil
		case d.IsDir():
			return w.tar.WriteHeader(&tar.Header{Name: filesDir + name + "/", Mode: 0o700, Typeflag: tar.TypeDir, Format: tar.FormatPAX})
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > mostFile {
			*left = append(*left, filepath.ToSlash(name))
			return nil
		}
		text, err := fs.ReadFile(root.FS(), name)
		if err != nil {
			return err
		}
		return w.entry(filesDir+name, text)
	})
}
