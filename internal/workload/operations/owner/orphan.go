package owner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/workload/operations/management"
)

// Orphan is a VM that a load created and that is still there, or the files of one that is not in the
// inventory.
type Orphan struct {
	Name  string `json:"name"`
	Host  string `json:"host,omitempty"`
	Owner string `json:"owner,omitempty"`
	Lab   string `json:"lab,omitempty"`   // the process that created it
	Life  Life   `json:"life"`            // of the lab: running, dead, or unknown from this host
	Files string `json:"files,omitempty"` // of a VM that is not in the inventory

	vm management.VM
}

// String is the orphan in words.
func (o Orphan) String() string {
	switch {
	case o.Files != "":
		return fmt.Sprintf("%s: files at %s, of a VM that is not in the inventory, lab: %s", o.Name, o.Files, o.Life)
	case o.Lab == "":
		return fmt.Sprintf("%s on %s: owner %s, of an unknown lab", o.Name, o.Host, o.Owner)
	}
	return fmt.Sprintf("%s on %s: owner %s, lab %s: %s", o.Name, o.Host, o.Owner, o.Lab, o.Life)
}

// owned reports whether the lab of the VM runs: it is no orphan.
func (o Orphan) owned() bool { return o.Life == Running }

// Find lists the VMs of all owners, those of labs that run too. With an error, files of VMs that are
// not in the inventory may be missing.
func Find(ctx context.Context, p management.Platform) (all []Orphan, err error) {
	// The inventory is read last: a VM that is registered meanwhile is in it, or its files are found.
	strays, missed := filesOf(ctx, p)
	s, err := p.Survey(ctx, Prefix, work)
	if err != nil {
		return nil, fmt.Errorf("list the VMs %s*: %w", Prefix, err)
	}
	registered := map[string]bool{}
	for _, v := range s.VMs {
		o := Orphan{Name: v.Name, Host: v.Host, Owner: ownerIn(v.Note), Life: Unknown, vm: v}
		if m, err := LabIn(v.Note); err == nil {
			o.Lab, o.Life = fmt.Sprintf("process %d on %s", m.Process, m.host), m.Life()
		}
		all = append(all, o)
		registered[v.Name] = true
	}
	for _, o := range strays {
		if !registered[o.Name] {
			all = append(all, o)
		}
	}
	return all, missed
}

// filesOf finds the files of VMs that are not in the inventory.
func filesOf(ctx context.Context, p management.Platform) (all []Orphan, err error) {
	f, can := p.(management.FileStore)
	if !can {
		return nil, nil
	}
	strays, err := f.Strays(ctx, Prefix)
	if err != nil {
		return nil, fmt.Errorf("look for files of VMs %s* that are not in the inventory: %w", Prefix, err)
	}
	for _, path := range strays {
		o := Orphan{Name: nameOf(path), Life: Unknown, Files: path}
		if t, tagged := tagIn(o.Name); tagged {
			o.Life = t.life()
		}
		all = append(all, o)
	}
	return all, nil
}

// nameOf is the VM of a file.
func nameOf(path string) string {
	name, _, _ := strings.Cut(path[strings.LastIndexAny(path, "/ ")+1:], ".")
	return name
}

// Sweep deletes the files that labs of an owner have left of VMs that are not in the inventory: one
// that is killed while it registers a VM leaves them. Those of a lab that runs stay, unless it is the
// caller's own.
func Sweep(ctx context.Context, p management.Platform, owner string, own Lab) error {
	f, can := p.(management.FileStore)
	if !can {
		return nil
	}
	strays, err := f.Strays(ctx, Prefix+digest(owner))
	if err != nil {
		return fmt.Errorf("look for files of VMs %s* that are not in the inventory: %w", Prefix, err)
	}
	mine := tagOf(owner, own)
	for _, path := range strays {
		t, tagged := tagIn(nameOf(path))
		if !tagged || t.owner != mine.owner || t != mine && t.life() == Running {
			continue
		}
		if err := f.Erase(ctx, path); err != nil {
			return fmt.Errorf("%s: %w", nameOf(path), err)
		}
	}
	return nil
}

func ownerIn(note string) string {
	for line := range strings.Lines(note) {
		if owner, is := strings.CutPrefix(strings.TrimSpace(line), "owner "); is {
			return owner
		}
	}
	return ""
}

const removedAtOnce = 8

// Remove removes VMs and files, and says of each that is gone.
func Remove(ctx context.Context, p management.Platform, list []Orphan, gone func(Orphan)) error {
	if slices.ContainsFunc(list, Orphan.owned) {
		return errors.New("VMs of a lab that runs are not removed")
	}
	byID := map[string]Orphan{}
	var vms []management.VM
	for _, o := range list {
		if o.Files != "" {
			if err := p.(management.FileStore).Erase(ctx, o.Files); err != nil {
				return fmt.Errorf("%s: %w", o.Name, err)
			}
			gone(o)
			continue
		}
		byID[o.vm.ID] = o
		vms = append(vms, o.vm)
	}
	removed := make(chan string, len(vms))
	err := Each(vms, removedAtOnce, func(v management.VM) error {
		err := remove(ctx, p, v)
		if err == nil {
			removed <- v.ID
		}
		return err
	})
	close(removed)
	for id := range removed {
		gone(byID[id])
	}
	return err
}
