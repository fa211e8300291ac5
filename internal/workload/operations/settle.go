package operations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/workload/operations/management"
)

// newName is that of the next VM.
func (b *book) newName() string { return fmt.Sprintf("%s%06d", b.name, b.named) }

// size is that of VMs.
func (l *operations) size() management.Size {
	return management.Size{CPUs: l.CPUs, Memory: int64(l.Memory), Disk: int64(l.Disk)}
}

// settle notes how an operation ended, and frees what it occupied.
func (b *book) settle(d *assignment, out management.Outcome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range d.hosts {
		b.flying[h]--
	}
	if d.Name != "" {
		b.coming--
	}
	if d.on != nil {
		d.on.busy = false
	}
	b.tallies.note(d, out, err)
	if err == nil {
		b.succeed(d, out)
	} else if d.on != nil {
		d.on.fail(err)
	}
	close(b.freed)
	b.freed = make(chan struct{})
}

// fail notes a failure. A fault leaves a VM as it was; after another error that is unknown.
func (v *vm) fail(err error) {
	v.doubtful = true
	v.failures++
	var fault *management.Fault
	v.aside = v.aside || !errors.As(err, &fault) || v.failures >= mostFailures
}

func (b *book) succeed(d *assignment, out management.Outcome) {
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
		b.vms = append(b.vms, v)
	case management.Clone:
		b.vms = append(b.vms, &vm{VM: management.VM{ID: out.VM, Name: d.Name, Host: d.Host, Power: management.Off, Shares: unknownShares}})
	case management.Delete:
		b.vms = slices.DeleteFunc(b.vms, func(o *vm) bool { return o == v })
	default:
		v.become(d)
	}
}

// unknownShares are those of VMs that were never reconfigured.
const unknownShares = -1

// become changes the state of a VM as an operation does.
func (v *vm) become(d *assignment) {
	switch d.Kind {
	case management.PowerOn:
		v.Power = management.On
	case management.PowerOff:
		v.Power, v.ran = management.Off, true
	case management.Suspend:
		v.Power = management.Suspended
	case management.Migrate, management.Relocate:
		v.Host = d.Host
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

// inFlight is how many hosts operations occupy, one counted twice on two of them.
func (b *book) inFlight() (n int) {
	for _, on := range b.flying {
		n += on
	}
	return n
}

// drain waits until no operation is in flight, or the context ends.
func (b *book) drain(ctx context.Context) error {
	for {
		b.mu.Lock()
		flying, freed := b.inFlight(), b.freed
		b.mu.Unlock()
		if flying == 0 {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return fmt.Errorf("operations are still in flight: %w", context.Cause(ctx))
		}
	}
}

// differences compares what is there with what was asked for.
func (b *book) differences(is management.Survey) (wrong []string, verified, doubtful int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	there := map[string]management.VM{}
	for _, v := range is.VMs {
		there[v.ID] = v
	}
	for _, v := range b.vms {
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

// times sums up times.
type times struct {
	n        int
	sum, max time.Duration
}

func (t *times) add(d time.Duration) {
	t.n++
	t.sum += d
	t.max = max(t.max, d)
}

func (t *times) mean() float64 { return t.sum.Seconds() / float64(max(1, t.n)) }

// tallies are the counts of a load that the load core does not keep.
type tallies struct {
	held       times
	queue, run map[management.Kind]*times // and those of all under the empty kind
	faults     map[string]int
	example    map[string]string
	failed     int
}

func newTallies() tallies {
	return tallies{queue: map[management.Kind]*times{}, run: map[management.Kind]*times{}, faults: map[string]int{}, example: map[string]string{}}
}

func (t *tallies) note(d *assignment, out management.Outcome, err error) {
	t.held.add(d.held)
	if err != nil {
		t.failed++
		name := string(d.Kind) + ": " + faultName(err)
		if t.faults[name]++; t.faults[name] == 1 {
			t.example[name] = err.Error()
		}
		return
	}
	for _, k := range []management.Kind{"", d.Kind} {
		add(t.queue, k, out.Queued)
		add(t.run, k, out.Ran)
	}
}

func add(to map[management.Kind]*times, k management.Kind, d time.Duration) {
	if d < 0 {
		return
	}
	if to[k] == nil {
		to[k] = &times{}
	}
	to[k].add(d)
}

// faultName sorts an error.
func faultName(err error) string {
	var fault *management.Fault
	switch {
	case errors.As(err, &fault):
		return fault.Name
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "lost"
}
