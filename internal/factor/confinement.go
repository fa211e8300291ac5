package factor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"plimsoll/internal/platform"
)

// confined is a factor that is one part of the confinement of workers.
type confined struct {
	part  func(c *platform.Confinement) *string
	parse func(level string) (text string, err error) // "" is no limit
	// unlimited is the level without a limit. If grouped is true, workers are in a control
	// group at that level too, so that levels differ in the limit only.
	unlimited string
	grouped   bool
	get       func(ctx context.Context, p Env, c platform.Confiner) (string, error)
}

// factor completes a factor, except for an Offers of its own.
func (s confined) factor(f Factor) Factor {
	f.Check = func(ctx context.Context, p Env, level string) (string, error) {
		text, err := s.parse(level)
		if err == nil && p.Machine != nil {
			err = confinable(ctx, p.Machine, s.set(platform.Confinement{}, text))
		}
		return cmp.Or(text, s.unlimited), err
	}
	f.Get = func(ctx context.Context, p Env) (string, error) {
		c, err := confiner(p.Machine)
		if err != nil {
			return "", err
		}
		return s.get(ctx, p, c)
	}
	f.Set = func(ctx context.Context, p Env, level string) error {
		text, err := s.parse(level)
		if err != nil {
			return err
		}
		return confine(ctx, p.Machine, func(c platform.Confinement) platform.Confinement { return s.set(c, text) })
	}
	if s.grouped {
		f.Restore = func(ctx context.Context, p Env, former string) error {
			text, err := s.parse(former) // no group without a limit
			if err != nil {
				return err
			}
			return confine(ctx, p.Machine, func(c platform.Confinement) platform.Confinement { *s.part(&c) = text; return c })
		}
	}
	return f
}

func (s confined) set(c platform.Confinement, text string) platform.Confinement {
	if s.grouped {
		text = cmp.Or(text, platform.Unlimited)
	}
	*s.part(&c) = text
	return c
}

// probe is the confinement of a process.
type probe struct {
	cpus       string // as the kernel writes the list
	membership []byte // its /proc/self/cgroup
}

// send starts a probe process, confined as a worker or as any other command.
func send(ctx context.Context, m platform.Machine, worker bool) (probe, error) {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"cat", "/proc/self/cgroup", "/proc/self/status"}, Worker: worker})
	if err != nil {
		return probe{}, fmt.Errorf("%s: read the CPU affinity of a process: %w", m.Name(), err)
	}
	if err := r.Killed("cat"); err != nil {
		return probe{}, fmt.Errorf("%s: read the CPU affinity of a process: %w", m.Name(), err)
	}
	membership, status, _ := strings.Cut(string(r.Stdout), "Name:")
	_, rest, found := strings.Cut(status, "\nCpus_allowed_list:")
	list, _, _ := strings.Cut(rest, "\n")
	if r.Exit != 0 || !found {
		return probe{}, fmt.Errorf("%s: read the CPU affinity of a process: cat exited with status %d: %s", m.Name(), r.Exit, r.Stderr)
	}
	return probe{cpus: strings.TrimSpace(list), membership: []byte(membership)}, nil
}

// groupOfWorkers is the control group of workers for a controller, and whether it differs from
// that of other commands.
func groupOfWorkers(ctx context.Context, m platform.Machine, controller string) (platform.ControlGroup, bool, error) {
	var found [2]platform.ControlGroup
	mountinfo, err := m.ReadFile(ctx, "/proc/self/mountinfo")
	if err != nil {
		return found[0], false, fmt.Errorf("%s: find control groups: %w", m.Name(), err)
	}
	for i, worker := range []bool{true, false} {
		p, err := send(ctx, m, worker)
		if err != nil {
			return found[0], false, err
		}
		if found[i], err = platform.FindControlGroup(mountinfo, p.membership, controller); err != nil {
			return found[0], false, fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	return found[0], found[0] != found[1], nil
}

// limit reads a file of a control group; a disabled controller has no file and no limit.
func limit(ctx context.Context, m platform.Machine, g platform.ControlGroup, file string) (string, error) {
	text, err := m.ReadFile(ctx, g.Folder+"/"+file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: read control group: %w", m.Name(), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// confiner is the machine's ability to confine workers.
func confiner(m platform.Machine) (platform.Confiner, error) {
	c, ok := m.(platform.Confiner)
	if !ok {
		return nil, fmt.Errorf("%s cannot confine workers: %w", m.Name(), errors.ErrUnsupported)
	}
	return c, nil
}

// confine changes the confinement of a machine.
func confine(ctx context.Context, m platform.Machine, change func(platform.Confinement) platform.Confinement) error {
	c, err := confiner(m)
	if err != nil {
		return err
	}
	if err := c.Confine(ctx, change(c.Confinement())); err != nil {
		return fmt.Errorf("%s: confine workers: %w", m.Name(), err)
	}
	return nil
}

// confinable returns an error if the machine does not support a confinement. It changes
// nothing.
func confinable(ctx context.Context, m platform.Machine, to platform.Confinement) error {
	c, err := confiner(m)
	if err != nil {
		return err
	}
	if err := c.Confinable(ctx, to); err != nil {
		return fmt.Errorf("%s: confine workers: %w", m.Name(), err)
	}
	return nil
}
