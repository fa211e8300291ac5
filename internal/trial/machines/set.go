// Package machines knows the machines of a run: which there are, the scratch folder on each, what they drive in
// a trial, and their counters and processes while they do.
package machines

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/workload"
)

// Workspace is a machine with our scratch folder on it.
type Workspace struct {
	Machine platform.Machine
	Dir     string
}

// Member is a machine of a trial, with the workload that it drives.
type Member struct {
	At       Workspace
	Name     string // of the machine in the journal; empty where a study has one alone
	Index    int    // in its group
	Group    study.Group
	Kind     workload.Kind // without a name where it drives nothing
	Settings parameter.Settings
	Load     workload.Load
	Recorder *measure.Recorder // its own load; nil if it is alone
	Sampler  *Sampler
	// Target finds the service that the machine has of its own; nil where the service of the study, if any, is for all.
	Target func(protocol string) (load.Endpoint, error)
}

// Drives reports whether the machine drives a workload.
func (m *Member) Drives() bool { return m.Kind.Name != "" }

// Set is the machines of a trial: the subject's, and those of other groups.
type Set []*Member

// workspaceOf gives a machine a folder of its own, by default below the platform's.
func workspaceOf(m platform.Machine, scratch string) Workspace {
	if l, ok := m.(platform.ScratchProvider); ok {
		scratch = l.Scratch()
	}
	return Workspace{m, path.Join(scratch, m.Name())}
}

func phrase(g study.Group) string {
	machines := "1 machine"
	if g.Machines > 1 {
		machines = fmt.Sprintf("%d machines", g.Machines)
	}
	if g.Name != "" {
		machines += " of group " + g.Name
	}
	return machines
}

// Build makes the load of each member.
func (c Set) Build() error {
	for _, m := range c {
		if !m.Drives() {
			continue
		}
		var err error
		if m.Load, err = m.Kind.New(m.Settings); err != nil {
			return fmt.Errorf("workload %s: %w", m.Kind.Name, err)
		}
	}
	return nil
}

// Lead is the first machine of the subject.
func (c Set) Lead() *Member { return c.Subject()[0] }

// Subject are the machines whose work is the result of the trial.
func (c Set) Subject() Set {
	return slices.DeleteFunc(slices.Clone(c), func(m *Member) bool { return !m.Group.Subject })
}

// Background are the machines of other groups that drive a workload.
func (c Set) Background() Set {
	return slices.DeleteFunc(slices.Clone(c), func(m *Member) bool { return m.Group.Subject || !m.Drives() })
}

// Driving are the machines that drive a workload.
func (c Set) Driving() Set {
	return slices.DeleteFunc(slices.Clone(c), func(m *Member) bool { return !m.Drives() })
}

// Several reports whether the study has groups, and so may have several machines.
func (c Set) Several() bool { return c[0].Name != "" }

// Server is the machine on which the service of the study runs, or the first of them.
func (c Set) Server() *Member { return c.Servers()[0] }

// Servers are the machines of the group that has the service of the study, or of the subject. A service that does not spread runs on the first.
func (c Set) Servers() Set {
	if all := slices.DeleteFunc(slices.Clone(c), func(m *Member) bool { return !m.Group.Serves }); len(all) > 0 {
		return all
	}
	return c.Subject()
}

// Each does something on all machines at once. The first that fails cancels the others.
func (c Set) Each(ctx context.Context, do func(ctx context.Context, m *Member) error) error {
	if len(c) == 1 {
		return do(ctx, c[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(c))
	for _, m := range c {
		go func() {
			err := fault.Caught(func() error { return do(ctx, m) })
			if err != nil && m.Name != "" {
				err = fmt.Errorf("machine %s: %w", m.Name, err)
			}
			failed <- err
		}()
	}
	var first error
	for range c {
		if err := <-failed; err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
			cancel()
		}
	}
	return first
}

// DataSeed gives each machine of a group data of its own.
func DataSeed(seed uint64, index int) uint64 { return seed + uint64(index)*0x9e3779b97f4a7c15 }
