package machines

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// Inventory is the machines of a run, by their names in the journal.
type Inventory struct {
	Machine  platform.Machine     // the only one, or the first of the subject
	byName   map[string]Workspace // by name, where there are several
	Platform platform.Platform
	Use      study.Use // of the platform
	Groups   []study.Group
	Catalog  *study.Catalog
	Commands []study.Command
	Scratch  string
	Mark     string                      // secret in the scratch folders of the run
	made     map[string]platform.Machine // whose scratch folder was made, by name
}

// First is the only machine, or the first of the subject, with the scratch folder of the run.
func (v *Inventory) First() Workspace { return Workspace{v.Machine, v.Scratch} }

// IsGroup reports whether the text after the colon of a factor without targets names a group.
func (v *Inventory) IsGroup(target string) bool {
	return target != "" && slices.ContainsFunc(v.Groups, func(g study.Group) bool { return g.Name == target })
}

// Host is the host of the machines, where a service runs that has their disks.
func (v *Inventory) Host(ctx context.Context) (Set, error) {
	on, err := v.Backed()
	if err != nil {
		return nil, err
	}
	m, dir, err := on.Host(ctx)
	if err != nil {
		return nil, fmt.Errorf("use the host of the machines: %w", err)
	}
	return Set{{At: Workspace{m, dir}, Name: HostName, Group: study.Group{Subject: true}}}, nil
}

// Backed is the platform as one whose machines have disks in a service.
func (v *Inventory) Backed() (platform.Backed, error) {
	on, ok := v.Platform.(platform.Backed)
	if !ok {
		return nil, fmt.Errorf("platform %s runs no service on the host of its machines", v.Use.Kind)
	}
	return on, nil
}

// Hosts is the protocol of the services that have the disks of the machines.
func (v *Inventory) Hosts() string {
	if k := v.kind(); k != nil {
		return k.Hosts
	}
	return ""
}

// DiskPrefix begins the names of the disks of the run's machines in a service.
func (v *Inventory) DiskPrefix() string {
	return "plimsoll-" + measure.Checksum([]byte("disks of " + v.Mark))[:12] + "-"
}

// kind is that of the platform; nil if it is unknown.
func (v *Inventory) kind() *platform.Kind {
	i := slices.IndexFunc(v.Catalog.Platforms, func(k platform.Kind) bool { return k.Name == v.Use.Kind })
	if i < 0 {
		return nil
	}
	return &v.Catalog.Platforms[i]
}

// Fleeting reports whether the machines end with the process that opened the platform.
func (v *Inventory) Fleeting() bool {
	k := v.kind()
	return k != nil && k.Fleeting != nil && k.Fleeting(v.Use.Settings)
}

// At finds a machine by its name in the journal.
func (v *Inventory) At(name string) (Workspace, error) {
	if name == "" {
		return v.First(), nil
	}
	p, ok := v.byName[name]
	if !ok {
		return p, fmt.Errorf("the platform no longer has machine %q", name)
	}
	return p, nil
}

// Alone is the one machine of a study without groups, with its load.
func (v *Inventory) Alone(kind workload.Kind, settings parameter.Settings) Set {
	return Set{{At: v.First(), Group: study.Group{Subject: true}, Kind: kind, Settings: settings}}
}

// Loads returns the workload of a group's machines; a kind without a name for none.
type Loads func(g study.Group) (workload.Kind, parameter.Settings, error)

// Gather starts the machines of groups, and stops all others.
func (v *Inventory) Gather(ctx context.Context, groups []study.Group, driven Loads) (Set, error) {
	grouped, ok := v.Platform.(platform.Grouped)
	if !ok {
		return nil, fmt.Errorf("platform %s has one machine: a study of several machines requires platform guest, fleet or local", v.Use.Kind)
	}
	loads := make([]Member, len(groups))
	for n, g := range groups {
		kind, settings, err := driven(g)
		if err != nil {
			return nil, err
		}
		loads[n] = Member{Group: g, Kind: kind, Settings: settings}
	}
	machines, err := membersOf(ctx, grouped, groups)
	if err != nil {
		return nil, err
	}
	var all Set
	for n := range groups {
		for i, m := range machines[n] {
			member := loads[n]
			member.At, member.Name, member.Index = workspaceOf(m, v.Scratch), m.Name(), i
			all = append(all, &member)
		}
	}
	v.Machine = all.Lead().At.Machine
	v.byName = map[string]Workspace{}
	for _, m := range all {
		v.byName[m.Name] = m.At
	}
	return all, nil
}

// Locate finds the machines of groups, to put them back. The server is the first of the group that has the service.
func (v *Inventory) Locate(ctx context.Context, groups []study.Group) (server Workspace, err error) {
	grouped, ok := v.Platform.(platform.Grouped)
	if !ok || len(groups) == 0 {
		return server, nil
	}
	machines, err := membersOf(ctx, grouped, groups)
	if err != nil {
		return server, err
	}
	v.byName = map[string]Workspace{}
	for n, g := range groups {
		for i, m := range machines[n] {
			at := workspaceOf(m, v.Scratch)
			v.byName[m.Name()] = at
			if g.Serves && i == 0 {
				server = at
			}
		}
	}
	return server, nil
}

// MakeScratch makes the scratch folders unless this session has done so.
func (v *Inventory) MakeScratch(ctx context.Context, all Set) error {
	missing := slices.DeleteFunc(slices.Clone(all), func(m *Member) bool { return v.made[m.Name] == m.At.Machine })
	if err := missing.Each(ctx, func(ctx context.Context, m *Member) error { return m.At.makeScratch(ctx, v.Mark) }); err != nil {
		return err
	}
	for _, m := range missing {
		if v.made == nil {
			v.made = map[string]platform.Machine{}
		}
		v.made[m.Name] = m.At.Machine
	}
	return nil
}

// Lead is the first machine of the subject of a study.
func Lead(ctx context.Context, p platform.Platform, s *study.Study) (platform.Machine, error) {
	grouped, ok := p.(platform.Grouped)
	i := slices.IndexFunc(s.Groups, func(g study.Group) bool { return g.Subject })
	if !ok || i < 0 {
		return p.Machine(), nil
	}
	machines, err := membersOf(ctx, grouped, s.Groups[i:i+1])
	if err != nil {
		return nil, err
	}
	return machines[0][0], nil
}

// membersOf are the machines of the groups of a study.
func membersOf(ctx context.Context, p platform.Grouped, groups []study.Group) ([][]platform.Machine, error) {
	wanted, phrases := make([]platform.Group, len(groups)), make([]string, len(groups))
	for i, g := range groups {
		wanted[i], phrases[i] = platform.Group{Name: g.Name, Machines: g.Machines, Settings: g.Settings}, phrase(g)
	}
	machines, err := p.Members(ctx, wanted...)
	if err != nil {
		return nil, fmt.Errorf("have %s: %w", strings.Join(phrases, ", "), err)
	}
	return machines, nil
}
