// Package toolbox has the small programs that plimsoll runs on a machine, for guests without a
// distribution. Each supports the options that plimsoll uses, with the output and exit status
// of the original, and rejects all others.
package toolbox

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Call is the invocation of a program.
type Call struct {
	Args           []string // without its name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// program returns an error; nil is exit status 0.
type program func(c *Call) error

// programs by name.
func programs() map[string]program {
	return map[string]program{
		"cat": cat, "kill": kill, "ls": ls, "mkdir": mkdir, "nproc": nproc, "pwd": pwd, "readlink": readlink, "rm": rm, "rmdir": rmdir,
		"stat": stat, "tee": tee, "test": test, "true": func(*Call) error { return nil }, "truncate": truncate, "echo": echo, "mount": mount, "umount": umount,
		"roundtrip": roundtrip, "sync": sync, "ln": ln, "id": id, "chown": chown, "install": install, "setpriv": setpriv, "rdma": rdma,
	}
}

// Names lists the programs.
func Names() []string { return slices.Sorted(maps.Keys(programs())) }

// refusal is an unsupported invocation.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

func refused(format string, args ...any) error { return refusal{fmt.Sprintf(format, args...)} }

// no is the result of a failed test: exit status 1 without output.
type no struct{}

func (no) Error() string { return "" }

// Run runs a program by its name. It returns the exit status: 1 after a failure, 2 after an
// unsupported invocation. known is false if there is no such program.
func Run(name string, c Call) (exit int, known bool) {
	p, known := programs()[name]
	if !known {
		return 127, false
	}
	switch err := p(&c).(type) {
	case nil:
		return 0, true
	case no:
		return 1, true
	case refusal:
		fmt.Fprintf(c.Stderr, "%s: %v\n", name, err)
		return 2, true
	default:
		fmt.Fprintf(c.Stderr, "%s: %v\n", name, err)
		return 1, true
	}
}

// options removes the options from the arguments: flags, and options with a value, as "-c
// VALUE" or "--size=VALUE". Arguments after "--" are not options.
func (c *Call) options(alone, valued []string) (map[string]string, []string, error) {
	set := map[string]string{}
	args := c.Args
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			return set, args[1:], nil
		}
		if len(a) < 2 || a[0] != '-' {
			return set, args, nil
		}
		args = args[1:]
		switch key, value, long := cutLong(a); {
		case slices.Contains(alone, a):
			set[a] = ""
		case long && slices.Contains(valued, key):
			set[key] = value
		case slices.Contains(valued, a) && len(args) > 0:
			set[a], args = args[0], args[1:]
		default:
			return nil, nil, refused("unsupported option %s", a)
		}
	}
	return set, args, nil
}

func cutLong(a string) (key, value string, long bool) {
	for i := range a {
		if a[i] == '=' {
			return a[:i], a[i+1:], len(a) > 2 && a[1] == '-'
		}
	}
	return a, "", false
}
