package operations

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/workload/operations/management"
)

// size is that of VMs.
func (l *operations) size() management.Size {
	return management.Size{CPUs: l.CPUs, Memory: int64(l.Memory), Disk: int64(l.Disk)}
}

// settle notes how an operation ended, and frees what it occupied.
func (b *schedule) settle(d *assignment, out management.Outcome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free(d)
	b.tallies.note(d, out, err)
	if err == nil {
		b.succeed(d, out)
	} else if d.on != nil {
		d.on.fail(err)
	}
	b.serve()
}

// fail notes a failure. A fault leaves a VM as it was; after another error that is unknown.
func (v *vm) fail(err error) {
	v.doubtful = true
	v.failures++
	var fault *management.Fault
	v.aside = v.aside || !errors.As(err, &fault) || v.failures >= mostFailures
}

func (b *schedule) succeed(d *assignment, out management.Outcome) {
	v := d.on
	if v != nil {
		v.failures = 0
	}
	switch d.Kind {
	case management.Create:
		if v == nil {
			v = &vm{}
		}
		v.VM = management.VM{ID: out.VM, Name: d.Name, Host: d.Host, Power: management.Off, Shares: unknownShares}
		b.add(v)
	case management.Clone:
		b.add(&vm{VM: management.VM{ID: out.VM, Name: d.Name, Host: d.Host, Power: management.Off, Shares: unknownShares}})
	case management.Delete:
		b.remove(v)
	case management.Migrate, management.Relocate:
		v.Host = d.Host
		v.at.drop(v)
		v.at = b.host(d.Host)
		v.at.vms = append(v.at.vms, v)
	default:
		v.become(d, out)
	}
}

// unknownShares are those of VMs that were never reconfigured.
const unknownShares = -1

// become changes the state of a VM as an operation does.
func (v *vm) become(d *assignment, out management.Outcome) {
	switch d.Kind {
	case management.PowerOn:
		v.Power = management.On
	case management.PowerOff:
		v.Power, v.ran = management.Off, true
	case management.Suspend:
		v.Power = management.Suspended
	case management.Register:
		v.ID = out.VM
	case management.Reconfigure:
		v.Shares, v.reverted = d.Shares, false
	case management.Snapshot:
		v.Snapshots++
	case management.RemoveSnapshots:
		v.Snapshots = 0
	case management.Revert:
		v.reverted = true
	}
}

// differences compares what is there with what was asked for.
func (b *schedule) differences(is management.Survey) (wrong []string, verified, doubtful int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	there := map[string]management.VM{}
	for _, v := range is.VMs {
		there[v.ID] = v
	}
	for _, h := range b.hosts {
		for _, v := range h.vms {
			has, exists := there[v.ID]
			delete(there, v.ID)
			if v.doubtful {
				doubtful++
				continue
			}
			verified++
			if said := v.differs(has, exists); said != "" {
				wrong = append(wrong, v.Name+" "+said)
			}
		}
	}
	for _, v := range there {
		if b.tallies.failed == 0 {
			wrong = append(wrong, v.Name+" should not exist")
		} else {
			doubtful++
		}
	}
	slices.Sort(wrong)
	return wrong, verified, doubtful
}

// differs is how a VM differs from what it should be; empty where it does not.
func (v *vm) differs(is management.VM, exists bool) string {
	switch {
	case !exists:
		return "is missing"
	case is.Power != v.Power:
		return fmt.Sprintf("is %s and should be %s", is.Power, v.Power)
	case is.Host != v.Host:
		return fmt.Sprintf("is on %s and should be on %s", is.Host, v.Host)
	case is.Snapshots != v.Snapshots:
		return fmt.Sprintf("has %d snapshots and should have %d", is.Snapshots, v.Snapshots)
	case v.Shares > 0 && !v.reverted && is.Shares != v.Shares:
		return fmt.Sprintf("has %d CPU shares and should have %d", is.Shares, v.Shares)
	}
	return ""
}
