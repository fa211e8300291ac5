package energy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Unit is the unit of the numbers of an own source.
type Unit struct {
	Name   string
	Factor float64 // to watts, or to joules
	Energy bool    // it counts energy
}

// units are those of own sources. The first is the default.
func units() []Unit {
	return []Unit{{"W", 1, false}, {"mW", 1e-3, false}, {"uW", 1e-6, false}, {"J", 1, true}, {"uJ", 1e-6, true}, {"Wh", 3600, true}, {"kWh", 3.6e6, true}}
}

// Own is a source of the user's: a file or a command that shows a number.
type Own struct {
	File    string // or a pattern that matches one
	Command string // for sh
	Unit    Unit
	Covers  string // what it measures, for users
	Every   time.Duration
}

const (
	// patience is how long a command may take.
	patience = 10 * time.Second
	// mostText is the longest output of a command, and the longest file.
	mostText = 64 << 10
	// mostWatts is beyond any host: the unit is another.
	mostWatts = 1e6
)

// Source is the source as others are.
func (o Own) Source() Source {
	what := cmp.Or(o.File, "the command of measure.energy") // which may hold a password
	return Source{
		Name: what + ": " + cmp.Or(o.Covers, "as the study names it, which does not say what is in it"), Every: o.Every,
		Read: func(ctx context.Context) (Reading, error) {
			text, err := o.text(ctx)
			if err != nil {
				return Reading{}, err
			}
			n, err := parse(text, o.Unit)
			switch {
			case err != nil:
				return Reading{}, fmt.Errorf("%s: %w", what, err)
			case o.Unit.Energy:
				return Reading{Counters: []Counter{{Name: what, Joules: n}}}, nil
			}
			return Reading{Watts: n}, nil
		},
	}
}

// parse reads one number, which its unit may follow, and returns watts or joules.
func parse(text string, of Unit) (float64, error) {
	words := strings.Fields(text)
	if len(words) == 2 && words[1] == of.Name {
		words = words[:1]
	}
	if len(words) != 1 {
		return 0, fmt.Errorf("expected one number in %s, got %q", of.Name, shortened(text))
	}
	n, err := strconv.ParseFloat(words[0], 64)
	n *= of.Factor
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		return 0, fmt.Errorf("expected a number in %s, got %q", of.Name, shortened(text))
	case n < 0:
		return 0, fmt.Errorf("%s %s is below 0", words[0], of.Name)
	case !of.Energy && n > mostWatts:
		return 0, fmt.Errorf("%s %s is more than any host takes: set measure.energy.unit, one of %s", words[0], of.Name, UnitNames())
	}
	return n, nil
}

// UnitNames lists the units for users.
func UnitNames() string {
	var names []string
	for _, u := range units() {
		names = append(names, u.Name)
	}
	return strings.Join(names, ", ")
}

// UnitOf finds a unit by name; "" is the default.
func UnitOf(name string) (Unit, bool) {
	all := units()
	i := slices.IndexFunc(all, func(u Unit) bool { return u.Name == cmp.Or(name, all[0].Name) })
	if i < 0 {
		return Unit{}, false
	}
	return all[i], true
}

func shortened(text string) string {
	const most = 60
	if text = strings.TrimSpace(text); len(text) > most {
		return text[:most] + "..."
	}
	return text
}

func (o Own) text(ctx context.Context) (string, error) {
	if o.Command != "" {
		return run(ctx, o.Command)
	}
	return content(o.File)
}

// content reads a file. A pipe or a device could block for ever.
func content(pattern string) (string, error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return "", fmt.Errorf("%s: %w", pattern, err)
	}
	if len(names) > 1 {
		return "", fmt.Errorf("%s matches %d files, such as %s and %s: name one", pattern, len(names), names[0], names[1])
	}
	name := pattern
	if len(names) == 1 {
		name = names[0]
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostText))
	return string(text), err
}

// run runs a command through sh and returns its output.
func run(ctx context.Context, script string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %v", patience))
	defer cancel()
	var out, failed limited
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &failed, time.Second
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel()
		err = errors.New("a process that it started keeps its output open")
	}
	if said := shortened(failed.text.String()); err != nil && said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	if err != nil {
		return "", fmt.Errorf("run the command of measure.energy: %w", err)
	}
	return out.text.String(), nil
}

// limited keeps the beginning of an output.
type limited struct{ text bytes.Buffer }

// Write keeps what fits.
func (l *limited) Write(data []byte) (int, error) {
	l.text.Write(data[:min(len(data), mostText-l.text.Len())])
	return len(data), nil
}
