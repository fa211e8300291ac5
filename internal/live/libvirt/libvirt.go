// Package libvirt is a live cluster of hosts managed by libvirt, each by its own daemon. A
// file lists the hosts, and has what libvirt lacks: rules, settings, maintenance.
package libvirt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"plimsoll/internal/live"
)

// Kind is the management interface of hosts with libvirt.
func Kind() live.Kind {
	return live.Kind{
		Scheme:  "libvirt",
		Doc:     "hosts with libvirt and QEMU, which a file lists",
		Example: "libvirt:///etc/plimsoll/lab.yaml",
		Open:    open,
	}
}

// open reads the file and tries each host once; those that do not respond are tried again
// while the cluster is watched.
func open(ctx context.Context, at live.Address) (live.Connection, error) {
	if err := at.Allow(); err != nil {
		return live.Connection{}, err
	}
	name, err := fileOf(at)
	if err != nil {
		return live.Connection{}, &live.Mistake{Err: err}
	}
	f, err := readFile(name)
	if err != nil {
		return live.Connection{}, &live.Mistake{Err: err}
	}
	if _, err := f.maintained(); err != nil {
		return live.Connection{}, err
	}
	s := newSource(f)
	s.mu.Lock()
	s.refresh(ctx)
	s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return live.Connection{}, errors.Join(err, s.close())
	}
	var errs []error
	for _, m := range s.members {
		if m.conn != nil {
			h := &hand{s}
			return live.Connection{Source: s, Hand: h, Shaper: h, Identity: s.identity(), MostMoves: mostMoves, Close: s.close}, nil
		}
		errs = append(errs, fmt.Errorf("host %s: %w", m.spec.name, m.err))
	}
	return live.Connection{}, fmt.Errorf("no host of %s answers: %w", name, errors.Join(errs...))
}

// mostMoves is the maximum number of concurrent migrations of a host: each occupies a copy
// thread of the hypervisor, and all the bandwidth that it gets.
const mostMoves = 2

// identity is the hosts' UUIDs, which all daemons of a host share; a host that has never
// responded is identified by its address.
func (s *source) identity() (names []string) {
	for _, m := range s.members {
		name := "libvirt/host/" + m.uuid
		if m.uuid == "" {
			name = "libvirt/uri/" + m.spec.uri
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// fileOf is the file of an address: libvirt:///absolute/path or libvirt://relative/path.
func fileOf(at live.Address) (string, error) {
	switch {
	case at.User != "":
		return "", errors.New("the address of a libvirt cluster names a file: users belong to the URIs in it")
	case at.Host == "" && at.Path == "":
		return "", errors.New("the address of a libvirt cluster names a file that lists the hosts, such as libvirt:///etc/plimsoll/lab.yaml")
	case at.Host == "":
		return "/" + at.Path, nil
	}
	return filepath.Join(at.Host, at.Path), nil
}
