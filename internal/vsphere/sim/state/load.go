package state

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/release"
	"plimsoll/internal/vsphere/sim/replica"
)

// Load builds the inventory in an empty simulator. Tags and unregistered VMs are loaded
// afterwards.
func (s *State) Load(into Source) error {
	if err := s.write(into.Folder); err != nil {
		return fmt.Errorf("write the files of datastores: %w", err)
	}
	l := &loader{of: s, to: into, rename: s.renamer(into.Folder)}
	for _, c := range s.objects {
		if err := l.put(c); err != nil {
			return fmt.Errorf("load %s: %w", c.Obj, err)
		}
	}
	if into.reg().Any("Datacenter") == nil {
		return errors.New("it has no datacenter")
	}
	for _, e := range into.reg().All("HostSystem") {
		l.host(e.(*simulator.HostSystem))
	}
	for _, kind := range []string{"ClusterComputeResource", "ComputeResource"} {
		for _, e := range into.reg().All(kind) {
			l.browse(e)
		}
	}
	l.count()
	return l.managers()
}

// renamer replaces the folder of the datastores in texts.
func (s *State) renamer(to string) func(string) string {
	return func(text string) string {
		if rest, is := strings.CutPrefix(text, s.Folder); is && (rest == "" || rest[0] == '/') {
			return to + rest
		}
		return text
	}
}

// write writes the files below a folder.
func (s *State) write(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range s.files {
		dir := f.name
		if !f.folder {
			dir = path.Dir(f.name)
		}
		if err := root.MkdirAll(filepath.FromSlash(dir), 0o700); err != nil {
			return err
		}
		if !f.folder {
			if err := root.WriteFile(filepath.FromSlash(f.name), f.text, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// loader builds an inventory.
type loader struct {
	of     *State
	to     Source
	rename func(string) string
}

// put adds an object to the inventory.
func (l *loader) put(c types.ObjectContent) error {
	o := l.to.reg().Get(c.Obj)
	if o == nil {
		o, _ = made(c.Obj.Type)
		reflect.ValueOf(o).Elem().FieldByName("Self").Set(reflect.ValueOf(c.Obj))
		l.to.reg().Put(o)
	}
	return fillIn(o, replica.Renamed(c, l.rename))
}

// fillIn sets the properties of an object.
func fillIn(o mo.Reference, c types.ObjectContent) (err error) {
	defer func() { // govmomi's reflection panics on values of a wrong type
		if r := recover(); r != nil {
			err = fmt.Errorf("its properties are not those of its type: %v", r)
		}
	}()
	v := reflect.ValueOf(o).Elem()
	if path.Base(v.Type().PkgPath()) != "mo" {
		v = v.Field(0)
	}
	return mo.LoadObjectContent([]types.ObjectContent{c}, v.Addr().Interface())
}

// host links a host to its managers.
func (l *loader) host(h *simulator.HostSystem) {
	if h.Config == nil {
		h.Config = new(types.HostConfigInfo)
	}
	h.Summary.Runtime = &h.Runtime
	refs := reflect.ValueOf(&h.ConfigManager).Elem()
	for i := range refs.NumField() {
		ref, ok := refs.Field(i).Interface().(*types.ManagedObjectReference)
		if !ok || ref == nil {
			continue
		}
		if o := l.to.reg().Get(*ref); o != nil {
			if f := reflect.ValueOf(o).Elem().FieldByName("Host"); f.IsValid() && f.Type() == reflect.TypeFor[*mo.HostSystem]() {
				f.Set(reflect.ValueOf(&h.HostSystem))
			}
		}
	}
	if ref := h.ConfigManager.AdvancedOption; ref != nil {
		if o, ok := simulator.NewOptionManager(ref, nil, &h.Config.Option).(mo.Reference); ok {
			l.to.reg().Put(o)
		}
	}
}

// browse sets the hosts of a cluster's browser.
func (l *loader) browse(e mo.Entity) {
	var browser *types.ManagedObjectReference
	var hosts []types.ManagedObjectReference
	switch c := e.(type) {
	case *simulator.ClusterComputeResource:
		browser, hosts = c.EnvironmentBrowser, c.Host
	case *mo.ComputeResource:
		browser, hosts = c.EnvironmentBrowser, c.Host
	}
	if browser == nil {
		return
	}
	if b, ok := l.to.reg().Get(*browser).(*simulator.EnvironmentBrowser); ok {
		b.QueryConfigOptionDescriptorResponse.Returnval = release.Options(hosts)
	}
}

// mostReferences limits the counter of new references.
const mostReferences = 10_000_000

// count ensures that new objects get unused references.
func (l *loader) count() {
	most := int64(0)
	for _, o := range l.to.reg().AllReference("") {
		if n := number(o.Reference().Value); n > most && n < mostReferences {
			most = n
		}
	}
	for {
		probe := l.to.reg().NewEntity(new(simulator.VirtualMachine))
		if number(probe.Reference().Value) >= most {
			return
		}
	}
}

// number is the number at the end of a reference.
func number(value string) int64 {
	digits := strings.TrimLeft(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
