package service

import (
	"cmp"
	"context"
	"maps"
	"path"

	"plimsoll/internal/platform"
)

// Private is a service that plimsoll starts from an installed program.
type Private struct {
	// Program is its name in messages; empty is the name of the binary found.
	Program string
	// Find finds the program on a machine, and returns an error if it is unsuitable.
	Find func(ctx context.Context, m platform.Machine) (Found, error)
	// Fits checks other requirements of the machine; nil: none.
	Fits  func(ctx context.Context, m platform.Machine) error
	Root  bool  // it runs as root if plimsoll does, which the others do not
	Needs Needs // besides the version of the program
	Ports int   // number of free ports
	// Shares says that several can listen at one port, and that they Release and Leave: see Live.
	Shares bool
	// Daemon is the program to start at a place; see Recipe.
	Daemon func(ctx context.Context, env Env, found Found, place Location) (Daemon, error)
}

// shares reports whether several servers can listen at one port.
func (p Private) shares() bool { return p.Shares }

// Check finds the program, and checks the requirements.
func (p Private) Check(ctx context.Context, env Env) (Needs, error) {
	found, err := p.Find(ctx, env.Machine)
	if err == nil && p.Fits != nil {
		err = p.Fits(ctx, env.Machine)
	}
	if err != nil {
		return Needs{}, err
	}
	needs := p.Needs
	needs.Versions = map[string]string{path.Base(found.Name): found.Version}
	maps.Copy(needs.Versions, p.Needs.Versions)
	return needs, nil
}

// Start starts the program on free ports, as an ordinary user if plimsoll is root and it does not need to be.
func (p Private) Start(ctx context.Context, env Env) (Instance, error) {
	found, err := p.Find(ctx, env.Machine)
	if err != nil {
		return nil, err
	}
	return launch(ctx, env, Recipe{
		Name: cmp.Or(p.Program, path.Base(found.Name)), Ports: p.Ports, Ordinary: !p.Root,
		Daemon: func(place Location) (Daemon, error) { return p.Daemon(ctx, env, found, place) },
	})
}
