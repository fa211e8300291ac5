package trial

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/workload"
)

// post is a machine and the folder on it that is ours.
type post struct {
	machine platform.Machine
	dir     string
}

// member is one machine of a trial, with what it drives.
type member struct {
	post
	name     string // of the machine in the journal; empty where a study has one alone
	index    int    // in its group
	group    study.Group
	kind     workload.Kind // without a name where it drives nothing
	settings parameter.Settings
	load     workload.Load
	recorder *measure.Recorder // what it does itself; nil where it is alone
	sampler  *sampler
}

// drives says that the member makes load.
func (m *member) drives() bool { return m.kind.Name != "" }

// crew are the machines of a trial: those of the subject, and those that keep it company.
type crew []*member

// drive gives a study's only machine the settings of its load.
func (c crew) drive(settings parameter.Settings) crew {
	c[0].settings = settings
	return c
}

// alone is the crew of a study of one machine.
func (s *session) alone() crew {
	return crew{{post: post{s.machine, s.scratch}, group: study.Group{Subject: true}, kind: s.kind}}
}

// muster has the machines of an arm, and no others, running.
func (s *session) muster(ctx context.Context, levels map[string]string) (crew, error) {
	if len(s.Study.Groups) == 0 {
		return s.alone().drive(s.Study.Settings(levels)), nil
	}
	return s.gather(ctx, s.Study.Crew(levels), levels)
}

// gather finds the machines of groups.
func (s *session) gather(ctx context.Context, groups []study.Group, levels map[string]string) (crew, error) {
	grouped, ok := s.Platform.(platform.Grouped)
	if !ok {
		return nil, fmt.Errorf("platform %s has one machine: a study of several runs on platform guest, fleet or local", s.Study.Platform.Kind)
	}
	var all crew
	for _, g := range groups {
		kind, settings, err := s.driven(g, levels)
		if err != nil {
			return nil, err
		}
		machines, err := grouped.Members(ctx, platform.Group{Name: g.Name, Machines: g.Machines, Settings: g.Settings})
		if err != nil {
			return nil, fmt.Errorf("have %s: %w", phrase(g), err)
		}
		for i, m := range machines {
			all = append(all, &member{post: postOf(m, s.scratch), name: m.Name(), index: i, group: g, kind: kind, settings: settings})
		}
	}
	s.machine = all.lead().machine
	s.posts = map[string]post{}
	for _, m := range all {
		s.posts[m.name] = m.post
	}
	return all, nil
}

// postOf is a folder of its own for a machine: below that of the platform, unless the machine
// has another.
func postOf(m platform.Machine, scratch string) post {
	if l, ok := m.(platform.Lodging); ok {
		scratch = l.Scratch()
	}
	return post{m, path.Join(scratch, m.Name())}
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

// driven is what the machines of a group drive in an arm.
func (s *session) driven(g study.Group, levels map[string]string) (kind workload.Kind, settings parameter.Settings, err error) {
	switch {
	case g.Subject:
		return s.kind, s.Study.Settings(levels), nil
	case g.Workload == nil:
		return kind, nil, nil
	}
	i := slices.IndexFunc(s.Catalog.Workloads, func(k workload.Kind) bool { return k.Name == g.Workload.Kind })
	if i < 0 {
		return kind, nil, fmt.Errorf("workload %s: this plimsoll does not have it", g.Workload.Kind)
	}
	return s.Catalog.Workloads[i], g.Workload.Settings, nil
}

// build makes the load of each member.
func (c crew) build() error {
	for _, m := range c {
		if !m.drives() {
			continue
		}
		var err error
		if m.load, err = m.kind.New(m.settings); err != nil {
			return fmt.Errorf("workload %s: %w", m.kind.Name, err)
		}
	}
	return nil
}

// lead is the first machine of the subject.
func (c crew) lead() *member { return c.subject()[0] }

// subject are the machines whose work is the result of the trial.
func (c crew) subject() crew {
	return slices.DeleteFunc(slices.Clone(c), func(m *member) bool { return !m.group.Subject })
}

// company are those that drive something beside the subject.
func (c crew) company() crew {
	return slices.DeleteFunc(slices.Clone(c), func(m *member) bool { return m.group.Subject || !m.drives() })
}

// driving are those that drive anything.
func (c crew) driving() crew {
	return slices.DeleteFunc(slices.Clone(c), func(m *member) bool { return !m.drives() })
}

// several says that there are more machines than one, or that there may be.
func (c crew) several() bool { return c[0].name != "" }

// server is where the service of the study runs.
func (c crew) server() *member {
	if i := slices.IndexFunc(c, func(m *member) bool { return m.group.Serves }); i >= 0 {
		return c[i]
	}
	return c.lead()
}

// each does something on every member at once. The first that fails ends the others.
func (c crew) each(ctx context.Context, do func(ctx context.Context, m *member) error) error {
	if len(c) == 1 {
		return do(ctx, c[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(c))
	for _, m := range c {
		go func() {
			err := fault.Caught(func() error { return do(ctx, m) })
			if err != nil && m.name != "" {
				err = fmt.Errorf("machine %s: %w", m.name, err)
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

// isGroup says that what follows the colon of a factor without targets is a group.
func (w *workbench) isGroup(target string) bool {
	return target != "" && slices.ContainsFunc(w.groups, func(g study.Group) bool { return g.Name == target })
}

// fleeting says that the machines of a platform end with the process that opened it.
func (w *workbench) fleeting(of study.Use) bool {
	i := slices.IndexFunc(w.catalog.Platforms, func(k platform.Kind) bool { return k.Name == of.Kind })
	return i >= 0 && w.catalog.Platforms[i].Fleeting != nil && w.catalog.Platforms[i].Fleeting(of.Settings)
}

// post finds a machine of the study by the name that the journal has for it.
func (w *workbench) post(name string) (post, error) {
	if name == "" {
		return post{w.machine, w.scratch}, nil
	}
	p, ok := w.posts[name]
	if !ok {
		return p, fmt.Errorf("the platform has no machine %q any more", name)
	}
	return p, nil
}

// Lead is the first machine of what a study is about.
func Lead(ctx context.Context, p platform.Platform, s *study.Study) (platform.Machine, error) {
	grouped, ok := p.(platform.Grouped)
	i := slices.IndexFunc(s.Groups, func(g study.Group) bool { return g.Subject })
	if !ok || i < 0 {
		return p.Machine(), nil
	}
	g := s.Groups[i]
	machines, err := grouped.Members(ctx, platform.Group{Name: g.Name, Machines: g.Machines, Settings: g.Settings})
	if err != nil {
		return nil, fmt.Errorf("have %s: %w", phrase(g), err)
	}
	return machines[0], nil
}
