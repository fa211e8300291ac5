package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"plimsoll/internal/proxmox"
	"plimsoll/internal/workload/operations/management"
)

const (
	suspended = "suspended" // lock of a VM with saved memory
	current   = "current"   // the current state among a VM's snapshots
	parallel  = 8           // VMs read concurrently
)

// Survey lists the nodes that are online, and the VMs with the mark.
func (c *client) Survey(ctx context.Context, prefix, mark string) (s management.Survey, err error) {
	list, err := c.api.Resources(ctx)
	if err != nil {
		return s, fmt.Errorf("list nodes and VMs: %w", err)
	}
	s.Lacks = []management.Kind{management.Register}
	var found []management.VM
	for _, r := range list {
		switch {
		case r.Type == "node" && r.Status == "online":
			s.Hosts = append(s.Hosts, r.Node)
		case r.Type == "qemu" && strings.HasPrefix(r.Name, prefix):
			found = append(found, management.VM{ID: strconv.Itoa(int(r.VMID)), Name: r.Name, Host: r.Node, Power: power(r.Status)})
		}
	}
	slices.Sort(s.Hosts)
	errs := make([]error, len(found))
	slots := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i := range found {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = c.look(ctx, &found[i])
		})
	}
	all.Wait()
	for i, v := range found {
		if name, _ := proxmox.Fault(errs[i]); name == "no-such-object" {
			continue // it was deleted meanwhile
		}
		if errs[i] != nil {
			return s, errors.Join(fmt.Errorf("read VM %s", v.Name), errs[i])
		}
		if management.Marked(v.Note, mark) {
			s.VMs = append(s.VMs, v)
		}
	}
	slices.SortFunc(s.VMs, func(a, b management.VM) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
	return s, nil
}

func power(status string) management.Power {
	if status == "running" {
		return management.On
	}
	return management.Off
}

// look reads properties that the list of the cluster lacks.
func (c *client) look(ctx context.Context, v *management.VM) error {
	g, err := c.guest(management.Order{VM: v.ID, From: v.Host})
	if err != nil {
		return err
	}
	is, err := g.Settings(ctx)
	if err != nil {
		return err
	}
	v.Note = strings.TrimSpace(string(is["description"]))
	v.Shares, _ = strconv.Atoi(string(is["cpuunits"])) // absent is 0
	if is["lock"] == suspended {
		v.Power = management.Suspended
	}
	list, err := g.Snapshots(ctx)
	for _, s := range list {
		if s.Name != current {
			v.Snapshots++
		}
	}
	return err
}

// storageOf is the first storage for disks of VMs that all nodes share.
func storageOf(ctx context.Context, api *proxmox.Client) (string, error) {
	list, err := api.Resources(ctx)
	if err != nil {
		return "", fmt.Errorf("list the storages: %w", err)
	}
	var names []string
	for _, r := range list {
		if r.Type == "storage" && r.Shared > 0 && slices.Contains(strings.Split(r.Content, ","), "images") {
			names = append(names, r.Storage)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return slices.Min(names), nil
}

// needs are the privileges of operations.
func needs() map[management.Kind][]string {
	return map[management.Kind][]string{
		management.PowerOn: {"VM.PowerMgmt"}, management.PowerOff: {"VM.PowerMgmt"}, management.Suspend: {"VM.PowerMgmt"},
		management.Create: {"VM.Allocate", "VM.Config.CPU", "VM.Config.Memory", "VM.Config.Options"},
		management.Clone:  {"VM.Clone", "VM.Allocate", "VM.Config.Options"}, management.Delete: {"VM.Allocate"},
		management.Reconfigure: {"VM.Config.CPU"}, management.Relocate: {"VM.Migrate"}, management.Migrate: {"VM.Migrate"},
		management.Snapshot: {"VM.Snapshot"}, management.RemoveSnapshots: {"VM.Snapshot"}, management.Revert: {"VM.Snapshot.Rollback"},
	}
}

// Missing compares the privileges of the account with those of the operations.
func (c *client) Missing(ctx context.Context, kinds []management.Kind) (missing []string, err error) {
	held, err := c.api.Permissions(ctx)
	if err != nil {
		return nil, err
	}
	wanted := []string{"VM.Audit"}
	for _, k := range kinds {
		wanted = append(wanted, needs()[k]...)
	}
	slices.Sort(wanted)
	for _, p := range slices.Compact(wanted) {
		if !proxmox.Holds(held, "/vms", p) {
			missing = append(missing, p+" on /vms")
		}
	}
	return missing, nil
}
