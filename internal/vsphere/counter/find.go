package counter

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
)

// reference is short for the identifier of an object of the vCenter.
type reference = types.ManagedObjectReference

// object is a host or VM whose counters are read.
type object struct {
	ref        reference
	kind, name string
	pattern    bool // selected by a pattern
}

// pattern is a name in a setting.
type pattern struct {
	kind, text string
	wild       bool
}

// wanted are the names of the settings.
func (s Settings) wanted() (list []pattern, err error) {
	for _, of := range []struct {
		kind  string
		names []string
	}{{ofVM, s.VMs}, {ofHost, s.Hosts}} {
		for _, name := range of.names {
			if _, err := path.Match(name, ""); err != nil || name == "" {
				return nil, fmt.Errorf("%q is not a name or pattern of %ss", name, nouns[of.kind])
			}
			list = append(list, pattern{of.kind, name, strings.ContainsAny(name, "*?[\\")})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("specify vms, hosts or both")
	}
	return list, nil
}

// fits reports whether a name matches. In a pattern, * does not match /.
func (p pattern) fits(kind, name string) bool {
	if kind != p.kind || !p.wild {
		return kind == p.kind && name == p.text
	}
	matched, err := path.Match(p.text, strings.ReplaceAll(name, "/", "\\"))
	return matched && err == nil
}

// seen is the properties of a VM or host that select it.
type seen struct {
	name          string
	off, template bool
}

// find finds the selected objects below a path. A name that does not exist is an error. A
// pattern skips objects that are off, with a note, and may match nothing yet.
func find(ctx context.Context, s *session.Session, at string, wanted []pattern) (objects []object, notes []string, err error) {
	root := s.Client().ServiceContent.RootFolder
	if at != "" {
		if root, err = inventory.Find(ctx, s, at); err != nil {
			return nil, nil, err
		}
	}
	all := map[reference]seen{}
	properties := map[string][]string{}
	for _, p := range wanted {
		properties[p.kind] = []string{"name", "runtime.powerState"}
	}
	if properties[ofVM] != nil {
		properties[ofVM] = append(properties[ofVM], "config.template")
	}
	if err := inventory.Below(ctx, s, root, properties, func(o types.ObjectContent) { all[o.Obj] = glimpse(o) }); err != nil {
		return nil, nil, fmt.Errorf("list VMs and hosts: %w", err)
	}
	taken := map[reference]bool{}
	for _, p := range wanted {
		found, off := choose(all, p, taken), 0
		for _, o := range found {
			if taken[o.ref] = true; p.wild && all[o.ref].off {
				off++
				continue
			}
			objects = append(objects, o)
		}
		switch {
		case p.wild && len(found) == 0:
			notes = append(notes, fmt.Sprintf("no %s fits %s", nouns[p.kind], p.text))
		case off > 0:
			notes = append(notes, fmt.Sprintf("%d of %d %ss that match %s are off, and are skipped", off, len(found), nouns[p.kind], p.text))
		case !p.wild && len(found) == 0 && !slices.ContainsFunc(objects, func(o object) bool { return p.fits(o.kind, o.name) }):
			return nil, nil, &live.Mistake{Err: fmt.Errorf("no %s %s is visible to this account", nouns[p.kind], p.text)}
		case !p.wild && len(found) > 1:
			return nil, nil, &live.Mistake{Err: fmt.Errorf("%d %ss are called %s: name the cluster in the address", len(found), nouns[p.kind], p.text)}
		}
	}
	return objects, notes, nil
}

// choose lists the objects that match a pattern and were not taken, by name.
func choose(all map[reference]seen, p pattern, taken map[reference]bool) (list []object) {
	for ref, o := range all {
		if !o.template && !taken[ref] && p.fits(ref.Type, o.name) {
			list = append(list, object{ref, ref.Type, o.name, p.wild})
		}
	}
	slices.SortFunc(list, func(a, b object) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.ref.Value, b.ref.Value)
	})
	return list
}

func glimpse(o types.ObjectContent) (out seen) {
	for _, p := range o.PropSet {
		switch v := p.Val.(type) {
		case string:
			out.name = config.Plain(v)
		case bool:
			out.template = v
		case types.VirtualMachinePowerState:
			out.off = v != types.VirtualMachinePowerStatePoweredOn
		case types.HostSystemPowerState:
			out.off = v != types.HostSystemPowerStatePoweredOn
		}
	}
	return out
}
