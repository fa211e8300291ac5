package factor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plimsoll/internal/pattern"
	"plimsoll/internal/platform"
)

// Effect is the set of settings that a change affects.
type Effect struct {
	// Sets names the setting, after aliases are resolved: a file of the kernel, or a name such
	// as "qdisc eth0". Two settings with a common name are one setting. Empty for settings
	// private to the study.
	Sets []string
	// Coupled are kernel files that may change along with the setting. They are read and
	// journalled before the first change, and restored with the setting by ReadCoupled and
	// WriteCoupled.
	Coupled []string
}

// EffectAt is the effect of the factor at a place. It returns an error if a change could not
// be undone.
func (f Factor) EffectAt(ctx context.Context, p Env) (Effect, error) {
	if f.Effect == nil || p.Machine == nil {
		return Effect{}, nil
	}
	e, err := f.Effect(ctx, p)
	if err != nil {
		return e, fmt.Errorf("%s: %w", f.Name, err)
	}
	e.Coupled = slices.DeleteFunc(e.Coupled, func(name string) bool { return slices.Contains(e.Sets, name) })
	return e, nil
}

// inBrackets matches the selected choice in a kernel file: "none [mq-deadline]".
var inBrackets = pattern.Of(`\[([^\[\]\s]+)\]`)

// ReadCoupled reads coupled files. Those that are absent or unreadable are left out: the files
// of a scheduler come and go with it.
func ReadCoupled(ctx context.Context, m platform.Machine, names []string) (map[string]string, error) {
	now := map[string]string{}
	for _, name := range names {
		if option, iface, ok := coalescingOption(name); ok {
			if value, err := readCoalescing(ctx, m, iface, option); err == nil {
				now[name] = value
			}
			continue
		}
		text, err := m.ReadFile(ctx, name)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: read %s: %w", m.Name(), name, err)
		}
		if err != nil {
			continue
		}
		value := strings.TrimSpace(string(text))
		if all := inBrackets().FindAllStringSubmatch(value, -1); len(all) == 1 {
			value = all[0][1]
		}
		now[name] = value
	}
	return now, nil
}

// WriteCoupled writes a coupled file.
func WriteCoupled(ctx context.Context, m platform.Machine, name, value string) error {
	if option, iface, ok := coalescingOption(name); ok {
		_, err := ethtool(ctx, Env{Machine: m, Target: iface}, "-C", option, value)
		return err
	}
	if err := m.WriteFile(ctx, name, []byte(value)); err != nil {
		return fmt.Errorf("%s: write %q to %s: %w", m.Name(), value, name, err)
	}
	return nil
}

// Below lists the files of folders on a machine, with full paths. A missing folder has none.
func Below(ctx context.Context, m platform.Machine, folders ...string) ([]string, error) {
	var files []string
	for _, folder := range folders {
		r, err := m.Run(ctx, platform.Command{Argv: []string{"ls", "--", folder}})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: list %s: %w", m.Name(), folder, err)
		}
		if err := r.Killed("ls"); err != nil {
			return nil, fmt.Errorf("%s: list %s: %w", m.Name(), folder, err)
		}
		for name := range strings.FieldsSeq(string(r.Stdout)) {
			files = append(files, folder+"/"+name)
		}
	}
	return files, nil
}

// holds is the effect of a setting without coupled files.
func holds(name string) func(context.Context, Env) (Effect, error) {
	return func(context.Context, Env) (Effect, error) { return Effect{Sets: []string{name}}, nil }
}
