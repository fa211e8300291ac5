package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/serve"
)

// HostNeeds is what a study takes at most of the host of its machines, in bytes, where these have disks in a service that runs there.
type HostNeeds struct {
	Memory int64 `json:"memoryBytes"`         // of the service and all machines
	Disk   int64 `json:"diskBytes,omitempty"` // of the service with full disks of the machines and their redundancy; 0 for a service that plimsoll does not start
}

// checkService asks the service of an arm for its needs, on the machine where it will run.
func (s *session) checkService(ctx context.Context, arm plan.Arm, all machines.Set) (needs service.Needs, err error) {
	if s.bench.Study.Tiled() {
		return s.tiles.Check(ctx, arm, all)
	}
	if s.services.Hosting == nil {
		return s.services.Check(ctx, arm, all)
	}
	host, err := s.machines.Host(ctx)
	if err != nil {
		return needs, err
	}
	if needs, err = s.services.Check(ctx, arm, host); err != nil {
		return needs, err
	}
	for _, use := range s.services.Foreign() {
		needs.Changes = append(needs.Changes, fmt.Sprintf("makes images for the disks of machines in %s at %s, and removes them", use.Kind, use.Settings[serve.AddressSetting]))
	}
	return needs, nil
}

// hostCheck adds up what arms take of the host of the machines.
type hostCheck struct {
	session *session
	disks   *stored // of the arms that the service keeps
	most    HostNeeds
}

// add refuses machines whose disks the service of an arm cannot hold, and a service that with them is too large for the host.
func (h *hostCheck) add(ctx context.Context, arm plan.Arm, all machines.Set, serving service.Needs) error {
	host, err := h.session.machines.Host(ctx)
	if err != nil {
		return err
	}
	memory, stored, err := h.claims(arm, all)
	if err != nil {
		return err
	}
	h.disks.add(h.session.store(arm, serving), serving, 0, stored)
	if err := h.session.fits(serving, h.disks, "make the disks of machines smaller, or enlarge the service"); err != nil {
		return err
	}
	name := h.session.bench.Study.Service.Kind
	h.most.Memory = max(h.most.Memory, serving.Memory+memory)
	if have := service.Memory(ctx, host.Lead().At.Machine); have > 0 && h.most.Memory > int64(spare*float64(have)) {
		return fmt.Errorf("service %s and the machines take %s of memory, but their host has %s: use fewer machines or less memory, or a smaller service",
			name, parameter.Bytes(h.most.Memory).About(), have.About())
	}
	if len(h.session.services.Foreign()) > 0 { // on disks of others
		return nil
	}
	h.most.Disk = max(h.most.Disk, h.disks.files+h.disks.sum())
	if left, ok := host.Lead().At.Space(ctx); ok && float64(h.most.Disk) > spare*float64(left.Free) {
		return fmt.Errorf("service %s with full disks of the machines takes %s in %s, but only %s are free: set TMPDIR to a larger folder, or make the disks smaller",
			name, parameter.Bytes(h.most.Disk).About(), host.Lead().At.Dir, parameter.Bytes(left.Free).About())
	}
	return nil
}

// claims are the bytes of the host's memory and of the service that the machines of an arm take at most. Of each group there may be one machine only that is asked.
func (h *hostCheck) claims(arm plan.Arm, all machines.Set) (memory, stored int64, err error) {
	number := map[string]int{}
	for _, g := range h.session.bench.Study.ArmGroups(arm.Levels) {
		number[g.Name] = g.Machines
	}
	for _, m := range all {
		of, ok := m.At.Machine.(platform.BackedMachine)
		if !ok || m.Index > 0 {
			continue
		}
		own, disk, err := of.Claims(h.levels(arm, m.Group.Name))
		if err != nil {
			return 0, 0, err
		}
		n := int64(max(1, number[m.Group.Name]))
		memory, stored = memory+n*own, stored+n*disk
	}
	return memory, stored, nil
}

// levels are the levels of an arm that are settings of the machines of a group.
func (h *hostCheck) levels(arm plan.Arm, group string) parameter.Settings {
	set := parameter.Settings{}
	at := slices.IndexFunc(h.session.bench.Catalog.Platforms, func(k platform.Kind) bool { return k.Name == h.session.machines.Use.Kind })
	if at < 0 {
		return set
	}
	kind := h.session.bench.Catalog.Platforms[at]
	for _, f := range h.session.bench.Study.Factors {
		setting, own := strings.CutPrefix(f.Name, kind.Name+".")
		if !own || f.Target != "" && f.Target != group {
			continue
		}
		if level, has := arm.Levels[f.FullName()]; has {
			if _, known := parameter.Find(kind.Defaults, setting); known {
				set[setting] = level
			}
		}
	}
	return set
}
