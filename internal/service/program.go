package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"

	"plimsoll/internal/charset"
	"plimsoll/internal/platform"
)

// Program is a program from the distribution's packages.
type Program struct {
	Names   []string // possible names, in order of preference
	Version []string // arguments that print the version
	Install string   // advice if it is missing: "apt install x (or dnf install y)"
}

// Found is an installed program.
type Found struct {
	Name    string // for starting it
	Version string // such as 1.22.1
	Said    string // output of its version option
}

// AtLeast compares the version with another, number by number.
func (f Found) AtLeast(version string) bool {
	have, want := strings.Split(f.Version, "."), strings.Split(version, ".")
	for i, w := range want {
		if i == len(have) {
			return false
		}
		a, _ := strconv.Atoi(have[i]) // both are digits
		b, _ := strconv.Atoi(w)
		if a != b {
			return a > b
		}
	}
	return true
}

// Find finds the program on the machine.
func (p Program) Find(ctx context.Context, m platform.Machine) (Found, error) {
	for _, name := range p.Names {
		// Daemons are often outside an ordinary user's PATH.
		for _, full := range []string{name, "/usr/sbin/" + name} {
			r, err := m.Run(ctx, platform.Command{Argv: append([]string{full}, p.Version...)})
			if ctx.Err() != nil {
				return Found{}, fmt.Errorf("look for %s: %w", name, context.Cause(ctx))
			}
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrPermission) {
				continue
			}
			if err != nil {
				return Found{}, fmt.Errorf("look for %s: %w", name, err)
			}
			said := string(r.Stdout) + string(r.Stderr)
			version := versionIn(said)
			if r.Exit != 0 || version == "" {
				return Found{}, fmt.Errorf("%s does not report its version: %q", full, strings.TrimSpace(said))
			}
			return Found{full, version, strings.TrimSpace(said)}, nil
		}
	}
	return Found{}, errors.New(p.Names[0] + " is not installed on this host: " + p.Install)
}

// versionIn is the first version number in a text: numbers separated by periods.
func versionIn(text string) string {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '.' && !strings.ContainsRune(charset.Digits, r) }) {
		var numbers []string
		for number := range strings.SplitSeq(word+".", ".") {
			switch {
			case number != "":
				numbers = append(numbers, number)
			case len(numbers) > 1:
				return strings.Join(numbers, ".")
			default:
				numbers = nil
			}
		}
	}
	return ""
}
