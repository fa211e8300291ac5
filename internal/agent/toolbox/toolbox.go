// Package toolbox has the few small programs that plimsoll runs on a machine, for guests
// that hold nothing but plimsoll. Each does what its namesake of the distribution does, as
// far as plimsoll asks for it: the same options, output and exit status. What it is not
// made for it refuses, and does not guess.
package toolbox

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Call is a program that is called.
type Call struct {
	Args           []string // without its name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// program answers with what is wrong; nil is exit status 0.
type program func(c *Call) error

// programs by name.
func programs() map[string]program {
	return map[string]program{
		"cat": cat, "kill": kill, "ls": ls, "mkdir": mkdir, "nproc": nproc, "pwd": pwd, "readlink": readlink, "rm": rm, "rmdir": rmdir,
		"stat": stat, "tee": tee, "test": test, "true": func(*Call) error { return nil }, "truncate": truncate, "echo": echo, "mount": mount, "umount": umount,
		"roundtrip": roundtrip, "sync": sync, "ln": ln, "id": id, "chown": chown, "setpriv": setpriv,
	}
}

// Names lists the programs.
func Names() []string { return slices.Sorted(maps.Keys(programs())) }

// refusal is a call that the toolbox is not made for.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

func refused(format string, args ...any) error { return refusal{fmt.Sprintf(format, args...)} }

// no is the answer of a test that does not hold: exit status 1 without output.
type no struct{}

func (no) Error() string { return "" }

// Run runs a program by its name. It answers with its exit status: 1 where something went
// wrong, 2 where the call is not understood; known is false where there is no such program.
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

// options takes the options off the arguments: those that stand alone, and those with a
// value, as "-c VALUE", "--size=VALUE". What is behind "--" is no option.
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
