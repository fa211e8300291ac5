// Package guard limits the actions of a lab on an agent's machine. It allows the needs of
// plimsoll's own workloads, services, factors and collectors, and a user's own commands
// only with the permission of the machine's owner. It saves the former values of kernel
// settings on disk and restores them when the lab is gone.
package guard

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"plimsoll/internal/platform"
)

// ErrNotAllowed is returned for an action that the owner of the machine does not allow.
var ErrNotAllowed = errors.New("the owner of this agent's machine does not allow that")

// Rules are the permissions set by the owner of a machine.
type Rules struct {
	Commands     bool     // any command, including a study's own
	Subprocesses []string // permitted first arguments of plimsoll itself
	Scratch      string   // the scratch folder of workloads and services
	Memory       string   // file with the settings to restore
}

// Whole is a machine without restrictions.
type Whole interface {
	platform.Machine
	platform.Carrier
	platform.Confiner
	platform.Observer
}

// Machine is a machine behind a guard.
type Machine struct {
	Whole
	rules Rules

	mu      sync.Mutex     // guards the fields below
	former  []setting      // oldest change first
	claimed []string       // claimed settings, each with the settings coupled to it
	frozen  map[string]int // files that must not be written now
}

// New puts a guard in front of a machine. It first restores the settings that an earlier
// guard with the same memory left changed.
func New(ctx context.Context, m Whole, rules Rules) (*Machine, error) {
	if !path.IsAbs(rules.Scratch) || !path.IsAbs(rules.Memory) {
		return nil, fmt.Errorf("the scratch folder %q and the memory %q need absolute paths", rules.Scratch, rules.Memory)
	}
	w := &Machine{Whole: m, rules: rules}
	if err := w.recall(); err != nil {
		return nil, err
	}
	return w, w.Restore(ctx)
}

// programs are those that plimsoll itself runs, besides plimsoll. None is a shell or an
// interpreter.
var programs = []string{
	"cat", "chown", "ethtool", "fio", "id", "losetup", "ls", "memcached", "mkdir", "nginx", "nproc", "readlink", "redis-server", "rm", "rmdir",
	"setpriv", "stat", "tee", "test", "truncate", "valkey-server", "wipefs",
}

// harmless is the option that makes a program read-only.
var harmless = map[string]string{"wipefs": "--no-act", "losetup": "--associated"}

// writers are the programs whose operands must be in the scratch folder.
var writers = []string{"chown", "mkdir", "rm", "rmdir", "tee", "truncate"}

// removers remove a link itself, not its target.
var removers = []string{"rm", "rmdir"}

// folders are the folders of installed programs.
var folders = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"}

// Run runs a command if the owner allows it.
func (w *Machine) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	self, err := w.Self(ctx)
	if err != nil {
		return platform.Result{}, err
	}
	if w.rules.Commands {
		return w.Whole.Run(ctx, c)
	}
	if err := w.check(self, c.Argv); err != nil {
		return platform.Result{}, err
	}
	if c.Argv[0] == self && c.Argv[1] == worker {
		if c, err = checkJob(c); err != nil {
			return platform.Result{}, err
		}
	}
	argv := c.Argv
	if path.Base(argv[0]) == "setpriv" {
		argv = afterDashes(argv)
	}
	if name := path.Base(argv[0]); configurations[name].file != nil {
		release, err := w.checkServer(ctx, name, argv)
		if err != nil {
			return platform.Result{}, err
		}
		defer release()
	}
	return w.Whole.Run(ctx, c)
}

func (w *Machine) check(self string, argv []string) error {
	r := w.rules
	if len(argv) == 0 {
		return errors.New("a command without a program")
	}
	name := path.Base(argv[0])
	switch {
	case argv[0] == self:
		if len(argv) == 2 && slices.Contains(r.Subprocesses, argv[1]) {
			return nil
		}
		return fmt.Errorf("run plimsoll as %q: %w", argv[1:], ErrNotAllowed)
	case !slices.Contains(programs, name) || name != argv[0] && !slices.Contains(folders, path.Dir(argv[0])):
		return fmt.Errorf("run %s: %w: it can start the agent with --allow-commands", argv[0], ErrNotAllowed)
	case harmless[name] != "" && (len(argv) < 2 || argv[1] != harmless[name]):
		return fmt.Errorf("run %s without %s: %w", name, harmless[name], ErrNotAllowed)
	case name == "setpriv":
		return w.checkAccount(self, argv)
	case name == "fio":
		return w.checkFio(argv)
	case name == "memcached":
		return checkMemcached(argv)
	case name == "ethtool":
		return checkEthtool(argv)
	case slices.Contains(writers, name):
		return w.checkOperands(name, argv)
	}
	return nil
}

// checkAccount allows a program to drop privileges.
func (w *Machine) checkAccount(self string, argv []string) error {
	inner := afterDashes(argv)
	for _, arg := range argv[1:max(1, len(argv)-len(inner)-1)] {
		if !drops(arg) {
			return fmt.Errorf("run setpriv with %s: %w", arg, ErrNotAllowed)
		}
	}
	if len(inner) > 0 && path.Base(inner[0]) == "setpriv" {
		return fmt.Errorf("run setpriv twice: %w", ErrNotAllowed)
	}
	return w.check(self, inner)
}

// checkOperands requires all operands of a program to be in the scratch folder.
func (w *Machine) checkOperands(name string, argv []string) error {
	r, operands := w.rules, afterDashes(argv)
	if len(operands) == 0 {
		return fmt.Errorf("run %s without -- before its files: %w", name, ErrNotAllowed)
	}
	for _, o := range operands {
		if !r.inScratch(o) && !(slices.Contains(removers, name) && r.removable(o)) {
			return fmt.Errorf("run %s on %s, which is not in the scratch folder %s: %w", name, o, r.Scratch, ErrNotAllowed)
		}
		if w.isFrozen(o) {
			return fmt.Errorf("run %s on %s, a configuration file of a server: %w", name, o, ErrNotAllowed)
		}
	}
	return nil
}

func afterDashes(argv []string) []string {
	if i := slices.Index(argv, "--"); i >= 0 {
		return argv[i+1:]
	}
	return nil
}

// WriteFile writes a file in the scratch folder, or a kernel setting once its former value is
// saved.
func (w *Machine) WriteFile(ctx context.Context, name string, data []byte) error {
	kernel := kernel(name)
	if kernel {
		name = path.Clean(name)
	}
	switch {
	case !kernel && w.isFrozen(name):
		return fmt.Errorf("write %s, a configuration file of a server: %w", name, ErrNotAllowed)
	case w.rules.Commands && !kernel:
		return w.Whole.WriteFile(ctx, name, data)
	case !kernel && w.rules.inScratch(name):
		if err := takesWrites(name); err != nil {
			return err
		}
		return w.Whole.WriteFile(ctx, name, data)
	case !kernel:
		return fmt.Errorf("write %s, which is neither a kernel setting nor in the scratch folder %s: %w", name, w.rules.Scratch, ErrNotAllowed)
	case runs(name) && !w.rules.Commands:
		return fmt.Errorf("write %s, which makes the kernel run programs: %w", name, ErrNotAllowed)
	}
	if err := w.remember(ctx, name); err != nil {
		return err
	}
	return w.Whole.WriteFile(ctx, name, data)
}
