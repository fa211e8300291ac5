package machinecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/diagnosis/checkup"
	"plimsoll/internal/hoststat/watch"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// machines are how the user named the hosts to check.
type machines struct {
	hosts    []string // by ssh
	platform string
	sets     []string
	files    []string // recordings, instead of machines
}

func (c *commands) platformNames() (names []string) {
	for _, k := range c.platforms {
		if !k.Virtual {
			names = append(names, k.Name)
		}
	}
	return names
}

// targets are the hosts to check; done takes leave of them.
func (c *commands) targets(ctx context.Context, from *machines) (all []checkup.Target, done func() error, err error) {
	done = func() error { return nil }
	name := from.platform
	switch {
	case len(from.files) > 0 && (len(from.hosts) > 0 || name != "" || len(from.sets) > 0):
		return nil, nil, cli.Mistake(errors.New("--recording is instead of HOST and --platform"))
	case len(from.files) > 0:
		return recorded(from.files), done, nil
	case len(from.hosts) > 0 && name == "":
		name = "ssh"
	case len(from.hosts) > 0 && name != "ssh":
		return nil, nil, cli.Mistake(fmt.Errorf("HOST is for platform ssh; platform %s has its machines from --set platform.NAME=value", name))
	case name == "" && len(from.sets) > 0:
		return nil, nil, cli.Mistake(errors.New("--set is for --platform or HOST"))
	case name == "":
		here := watch.Here()
		return []checkup.Target{{Watch: func(ctx context.Context, job watch.Job) (*watch.Answer, error) {
			a, err := here.Watch(ctx, job, nil)
			if err != nil {
				return nil, fmt.Errorf("watch this host: %w", err)
			}
			return a, nil
		}}}, done, nil
	}
	i := slices.IndexFunc(c.platforms, func(k platform.Kind) bool { return k.Name == name && !k.Virtual })
	if i < 0 {
		return nil, nil, cli.Mistake(fmt.Errorf("no machines to check on platform %q; did you mean %s?", name, parameter.Nearest(name, c.platformNames())))
	}
	settings, err := platformSettings(c.platforms[i], from.sets)
	if err != nil {
		return nil, nil, cli.Mistake(err)
	}
	if len(from.hosts) == 0 {
		return opened(ctx, c.platforms[i], settings)
	}
	return byNames(ctx, c.platforms[i], settings, from.hosts)
}

// platformSettings are those of --set platform.NAME=value.
func platformSettings(k platform.Kind, sets []string) (parameter.Settings, error) {
	settings := parameter.Settings{}
	for _, set := range sets {
		path, value, found := strings.Cut(set, "=")
		name, ours := strings.CutPrefix(path, "platform.")
		if !found || !ours {
			return nil, fmt.Errorf("--set %s: write platform.NAME=value", set)
		}
		fields := parameter.Fields(k.Defaults)
		known := slices.ContainsFunc(fields, func(f parameter.Field) bool { return f.Name == name })
		if !known {
			names := make([]string, len(fields))
			for i, f := range fields {
				names[i] = f.Name
			}
			return nil, fmt.Errorf("--set %s: platform %s has no setting %s; did you mean %s?", set, k.Name, name, parameter.Nearest(name, names))
		}
		settings[name] = value
	}
	return settings, nil
}

// opened are the machines of a platform: as many agents of a fleet as its setting says, else
// its one machine.
func opened(ctx context.Context, k platform.Kind, settings parameter.Settings) ([]checkup.Target, func() error, error) {
	p, err := k.Open(ctx, settings, 1)
	if err != nil {
		return nil, nil, err
	}
	all := []platform.Machine{p.Machine()}
	if agents, _ := strconv.Atoi(settings["agents"]); agents > 1 {
		if grouped, ok := p.(platform.Grouped); ok {
			if all, err = platform.MembersOf(ctx, grouped, platform.Group{Name: "check", Machines: agents}); err != nil {
				return nil, nil, errors.Join(err, p.Close())
			}
		}
	}
	targets := make([]checkup.Target, len(all))
	for i, m := range all {
		targets[i] = target(m)
	}
	return targets, p.Close, nil
}

// recorded are recordings that an earlier check saved.
func recorded(files []string) (all []checkup.Target) {
	for _, file := range files {
		t := checkup.Target{Watch: func(_ context.Context, job watch.Job) (*watch.Answer, error) {
			a, err := watch.Open(file)
			if err != nil {
				return nil, err
			}
			if err := a.Ask(job); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			return a, nil
		}}
		if len(files) > 1 {
			t.Name = strings.TrimSuffix(filepath.Base(file), ".json.gz")
		}
		all = append(all, t)
	}
	return all
}

// saved keeps the recordings of targets in a folder. The error of failed is that of those that
// could not be kept; they are judged all the same.
func saved(targets []checkup.Target, folder string) (all []checkup.Target, failed func() error, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, nil, fmt.Errorf("make the folder for recordings: %w", err)
	}
	const writing = 2 // of access(2)
	if err := syscall.Access(folder, writing); err != nil {
		return nil, nil, fmt.Errorf("write to the folder for recordings, %s: %w", folder, err)
	}
	var mu sync.Mutex
	var errs []error
	all = slices.Clone(targets)
	for i, t := range targets {
		all[i].Watch = func(ctx context.Context, job watch.Job) (*watch.Answer, error) {
			a, err := t.Watch(ctx, job)
			if err != nil {
				return nil, err
			}
			if _, err := a.Save(folder, cmp.Or(t.Name, a.Recording.Facts.Host, "host")); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
			return a, nil
		}
	}
	return all, func() error { return errors.Join(errs...) }, nil
}

func target(m platform.Machine) checkup.Target {
	return checkup.Target{Name: m.Name(), Watch: func(ctx context.Context, job watch.Job) (*watch.Answer, error) {
		return watch.There(ctx, m, job)
	}}
}

// byNames connects with hosts at the same time, when they are first watched. One that cannot be
// reached does not keep the others from being checked.
func byNames(_ context.Context, k platform.Kind, settings parameter.Settings, hosts []string) ([]checkup.Target, func() error, error) {
	var mu sync.Mutex
	var open []platform.Platform
	var targets []checkup.Target
	for _, name := range hosts {
		own := parameter.Settings{}
		for key, value := range settings {
			own[key] = value
		}
		if err := address(own, name); err != nil {
			return nil, nil, cli.Mistake(err)
		}
		var machine platform.Machine
		targets = append(targets, checkup.Target{Name: name, Watch: func(ctx context.Context, job watch.Job) (*watch.Answer, error) {
			if machine == nil {
				p, err := k.Open(ctx, own, 1)
				if err != nil {
					return nil, err
				}
				mu.Lock()
				open = append(open, p)
				mu.Unlock()
				machine = p.Machine()
			}
			return watch.There(ctx, machine, job)
		}})
	}
	return targets, func() (err error) {
		for _, p := range open {
			err = errors.Join(err, p.Close())
		}
		return err
	}, nil
}

// address splits [user@]host[:port] into settings of platform ssh.
func address(into parameter.Settings, name string) error {
	user, host, found := strings.Cut(name, "@")
	if !found {
		user, host = "", name
	}
	if h, port, err := net.SplitHostPort(host); err == nil {
		host, into["port"] = h, port
	}
	if host == "" || found && user == "" {
		return fmt.Errorf("%q is not a host: write [user@]host[:port]", name)
	}
	into["host"] = host
	if user != "" {
		into["user"] = user
	}
	return nil
}
