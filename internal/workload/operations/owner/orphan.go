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
		return fmt.Sprintf("%s: files at %s, of a VM that is not in the inventory", o.Name, o.Files)
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
	s, err := p.Survey(ctx, Prefix, work)
	if err != nil {
		return nil, fmt.Errorf("list the VMs %s*: %w", Prefix, err)
	}
	for _, v := range s.VMs {
		o := Orphan{Name: v.Name, Host: v.Host, Owner: ownerIn(v.Note), Life: Unknown, vm: v}
		if m, err := LabIn(v.Note); err == nil {
			o.Lab, o.Life = fmt.Sprintf("process %d on %s", m.Process, m.host), m.Life()
		}
		all = append(all, o)
	}
	if f, can := p.(management.Filing); can {
		strays, err := f.Strays(ctx, Prefix)
		if err != nil {
			return all, fmt.Errorf("look for files of VMs %s* that are not in the inventory: %w", Prefix, err)
		}
		for _, path := range strays {
			o := Orphan{Name: path[strings.LastIndexAny(path, "/ ")+1:], Life: Unknown, Files: path}
			o.Name, _, _ = strings.Cut(o.Name, ".")
			all = append(all, o)
		}
	}
	return all, nil
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
			if err := p.(management.Filing).Erase(ctx, o.Files); err != nil {
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
