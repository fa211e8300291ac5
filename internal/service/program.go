package service

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"plimsoll/internal/platform"
)

// Program is a program from the distribution's packages.
type Program struct {
	Names   []string // what it may be called; the first that is there is taken
	Version []string // arguments that make it print its version
	Install string   // what to do where it is absent: "apt install x (or dnf install y)"
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

// Find is the name by which the program can be started, and its version.
func (p Program) Find(ctx context.Context, m platform.Machine) (name, version string, err error) {
	for _, name := range p.Names {
		// Daemons often lie where the PATH of an ordinary user does not lead.
		for _, full := range []string{name, "/usr/sbin/" + name} {
			r, err := m.Run(ctx, platform.Command{Argv: append([]string{full}, p.Version...)})
			if ctx.Err() != nil {
				return "", "", fmt.Errorf("look for %s: %w", name, context.Cause(ctx))
			}
			if err != nil {
				continue
			}
			said := string(r.Stdout) + string(r.Stderr)
			version := versionNumber.FindString(said)
			if r.Exit != 0 || version == "" {
				return "", "", fmt.Errorf("%s does not tell its version: %q", full, strings.TrimSpace(said))
			}
			return full, version, nil
		}
	}
	return "", "", errors.New(p.Names[0] + " is not installed on this host: " + p.Install)
}
