package storage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	pbm "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"plimsoll/internal/vsphere/capability"
)

// saved is the state of the policies, in the XML of the API.
type saved struct {
	XMLName  xml.Name                   `xml:"policies"`
	Profiles []pbm.PbmCapabilityProfile `xml:"profile"`
	Stores   []savedStore               `xml:"datastore"`
	Given    []savedObject              `xml:"object"`
}

// savedStore is the profile of a datastore's capabilities.
type savedStore struct {
	ID      string `xml:"id"`
	Profile string `xml:"profile"`
}

// savedObject is the policy of a home or a disk.
type savedObject struct {
	VM      string `xml:"vm"`
	Key     string `xml:"key"`
	Profile string `xml:"profile"`
	Version int64  `xml:"version"`
}

// Save is the state of policies, capabilities and assignments. The simulator no longer serves
// then.
func (d *PolicyManager) Save() ([]byte, error) {
	d.m.Lock()
	defer d.m.Unlock()
	for _, a := range d.news.take().assignments {
		d.assign(a)
	}
	var s saved
	for _, p := range d.profiles.list {
		s.Profiles = append(s.Profiles, *p)
	}
	for _, id := range slices.Sorted(maps.Keys(d.profiles.store)) {
		s.Stores = append(s.Stores, savedStore{d.profiles.store[id], id})
	}
	for vm, objects := range d.given {
		for key, a := range objects {
			s.Given = append(s.Given, savedObject{vm, key, a.profile, a.version})
		}
	}
	slices.SortFunc(s.Given, func(a, b savedObject) int { return cmp.Or(cmp.Compare(a.VM, b.VM), cmp.Compare(a.Key, b.Key)) })
	var b bytes.Buffer
	e := xml.NewEncoder(&b)
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("encode the storage policies: %w", err)
	}
	return b.Bytes(), e.Flush()
}

// restore restores a saved state.
func restore(d *PolicyManager, text []byte) error {
	s, err := decode(text)
	if err != nil {
		return err
	}
	*d.profiles = profiles{byID: map[string]*pbm.PbmCapabilityProfile{}, store: map[string]string{}}
	for i := range s.Profiles {
		if s.Profiles[i].ProfileId.UniqueId == "" {
			return errors.New("a storage policy has no identifier")
		}
		d.profiles.put(&s.Profiles[i])
	}
	for _, store := range s.Stores {
		p := d.profiles.byID[store.Profile]
		if p == nil {
			return fmt.Errorf("no profile %.100q of a datastore", store.Profile)
		}
		d.profiles.store[store.Profile], d.offers[store.ID] = store.ID, capability.Capabilities(p)
	}
	for _, o := range s.Given {
		if p := d.profiles.byID[o.Profile]; p == nil || p.ProfileCategory != requirement {
			return fmt.Errorf("no storage policy %.100q, which a VM has", o.Profile)
		}
		d.set(o.VM, o.Key, o.Profile)
		d.given[o.VM][o.Key] = assigned{o.Profile, max(0, o.Version)}
	}
	return nil
}

// decode decodes a saved state.
func decode(text []byte) (s saved, err error) {
	defer func() { // govmomi's decoder panics on values of a wrong type
		if r := recover(); r != nil {
			err = fmt.Errorf("the storage policies are not in the XML of the API: %v", r)
		}
	}()
	dec := xml.NewDecoder(bytes.NewReader(text))
	dec.TypeFunc = func(name string) (reflect.Type, bool) {
		if kind, ok := types.TypeFunc()(name); ok {
			return kind, true
		}
		return types.TypeFunc()("pbm:" + name)
	}
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("read the storage policies: %w", err)
	}
	return s, nil
}
