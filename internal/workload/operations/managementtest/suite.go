// Package managementtest is the conformance suite of platforms that manage VMs.
package managementtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/workload/operations/management"
)

const (
	mark   = "made by the conformance suite"
	prefix = "op-test-"
)

// Subject is a platform under test.
type Subject struct {
	Platform management.Platform
	Size     management.Size   // of VMs
	Lacks    []management.Kind // operations that the platform does not have
	// Times says that the platform tells how long operations were queued and ran.
	Times bool
	// Tolerant platforms power off VMs that are off, and give a name twice.
	Tolerant bool
	Unknown  string        // identifier of a VM that does not exist
	Patience time.Duration // for an operation; a minute where it is 0
}

// suite is a run of the suite.
type suite struct {
	*testing.T
	Subject
}

// Run checks that each operation does what it says and that the platform shows it. It wants two
// hosts at least, and leaves nothing.
func Run(t *testing.T, s Subject) {
	r := suite{t, s}
	if r.Patience == 0 {
		r.Patience = time.Minute
	}
	first := r.survey()
	if len(first.Hosts) < 2 || len(first.VMs) != 0 {
		t.Fatalf("%+v", first)
	}
	t.Cleanup(func() { r.clear() })
	made := r.create(prefix+"1", first.Hosts[0])
	r.life(made, first.Hosts)
	r.clone()
	r.refusals()
	r.clear()
	if left := r.survey().VMs; len(left) > 0 {
		t.Errorf("after delete: %+v", left)
	}
}

func (r suite) has(k management.Kind) bool { return !slices.Contains(r.Lacks, k) }

func (r suite) survey() management.Survey {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), r.Patience)
	defer cancel()
	s, err := r.Platform.Survey(ctx, prefix, mark)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func (r suite) carryOut(o management.Order) (management.Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.Patience)
	defer cancel()
	ticket, err := r.Platform.Issue(ctx, o)
	if err != nil {
		return management.Outcome{}, err
	}
	return r.Platform.Await(ctx, ticket)
}

func (r suite) create(name, host string) management.VM {
	r.Helper()
	out, err := r.carryOut(management.Order{Kind: management.Create, Name: name, Host: host, Mark: mark + "\nand more", Size: r.Size})
	if err != nil || out.VM == "" {
		r.Fatalf("create: %+v, %v", out, err)
	}
	return management.VM{ID: out.VM, Name: name, Host: host, Power: management.Off, Note: mark + "\nand more"}
}

// life takes a VM through all states.
func (r suite) life(want management.VM, hosts []string) {
	for _, step := range []struct {
		order  management.Order
		change func()
	}{
		{management.Order{Kind: management.Reconfigure, Shares: 1234}, func() { want.Shares = 1234 }},
		{management.Order{Kind: management.Register}, func() {}},
		{management.Order{Kind: management.Snapshot}, func() { want.Snapshots++ }},
		{management.Order{Kind: management.Snapshot}, func() { want.Snapshots++ }},
		{management.Order{Kind: management.Revert}, func() {}},
		{management.Order{Kind: management.RemoveSnapshots}, func() { want.Snapshots = 0 }},
		{management.Order{Kind: management.Relocate, Host: hosts[1]}, func() { want.Host = hosts[1] }},
		{management.Order{Kind: management.PowerOn}, func() { want.Power = management.On }},
		{management.Order{Kind: management.Migrate, Host: hosts[0]}, func() { want.Host = hosts[0] }},
		{management.Order{Kind: management.Reconfigure, Shares: 4321}, func() { want.Shares = 4321 }},
		{management.Order{Kind: management.Suspend}, func() { want.Power = management.Suspended }},
		{management.Order{Kind: management.PowerOn}, func() { want.Power = management.On }},
		{management.Order{Kind: management.PowerOff}, func() { want.Power = management.Off }},
	} {
		if !r.has(step.order.Kind) {
			continue
		}
		step.order.VM, step.order.From = want.ID, want.Host
		out, err := r.carryOut(step.order)
		if err != nil {
			r.Fatalf("%s: %v", step.order.Kind, err)
		}
		if r.Times && (out.Queued < 0 || out.Ran < 0) {
			r.Errorf("%s: the platform tells no times: %+v", step.order.Kind, out)
		}
		step.change()
		if step.order.Kind == management.Register {
			want.ID = out.VM
		}
		r.shows(string(step.order.Kind), want)
	}
}

// shows compares the only VM with what it should be.
func (r suite) shows(after string, want management.VM) {
	r.Helper()
	got := r.survey().VMs
	if len(got) != 1 {
		r.Fatalf("after %s: %+v", after, got)
	}
	if want.Shares == 0 {
		got[0].Shares = 0 // those of a VM that was never reconfigured
	}
	if got[0] != want {
		r.Errorf("after %s: %+v, want %+v", after, got[0], want)
	}
}

// clone copies a VM that is off.
func (r suite) clone() {
	if !r.has(management.Clone) {
		return
	}
	from := r.survey().VMs[0]
	copied, err := r.carryOut(management.Order{Kind: management.Clone, VM: from.ID, From: from.Host, Name: prefix + "2", Host: from.Host, Mark: mark})
	if err != nil || copied.VM == from.ID {
		r.Fatal(copied, err)
	}
	got := r.survey().VMs
	if len(got) != 2 || got[1].ID != copied.VM || got[1].Host != from.Host || got[1].Power != management.Off || got[1].Note != mark {
		r.Errorf("after clone: %+v", got)
	}
}

// refusals have a name, and change nothing.
func (r suite) refusals() {
	before := r.survey().VMs
	vm := before[0]
	orders := map[string]management.Order{"power-on of a VM that does not exist": {Kind: management.PowerOn, VM: r.Unknown, From: vm.Host}}
	if !r.Tolerant {
		orders["power-off of a VM that is off"] = management.Order{Kind: management.PowerOff, VM: vm.ID, From: vm.Host}
		orders["a name that is taken"] = management.Order{Kind: management.Create, Name: vm.Name, Host: vm.Host, Mark: mark, Size: r.Size}
	}
	for name, o := range orders {
		_, err := r.carryOut(o)
		if fault := new(management.Fault); !errors.As(err, &fault) || fault.Name == "" || fault.Error() == "" {
			r.Errorf("%s: %v", name, err)
		}
	}
	if after := r.survey().VMs; !slices.Equal(after, before) {
		r.Errorf("after refusals: %+v, before %+v", after, before)
	}
	if _, err := r.Platform.Issue(context.Background(), management.Order{Kind: "fly", VM: vm.ID, From: vm.Host}); !errors.Is(err, errors.ErrUnsupported) {
		r.Errorf("an unknown operation gives %v", err)
	}
}

// clear removes all VMs of the suite.
func (r suite) clear() {
	for _, v := range r.survey().VMs {
		if v.Power != management.Off {
			_, _ = r.carryOut(management.Order{Kind: management.PowerOff, VM: v.ID, From: v.Host}) // its deletion fails then
		}
		if _, err := r.carryOut(management.Order{Kind: management.Delete, VM: v.ID, From: v.Host}); err != nil {
			r.Errorf("delete %s: %v", v.Name, err)
		}
	}
}
