package libvirt

import (
	"plimsoll/internal/live"
)

// Host is a host of the list.
type Host struct {
	Name, URI string
	Migration string // URI at which its hypervisor receives memory; empty: chosen by the daemon
}

// List is the list of hosts of a cluster's address.
type List struct {
	Hosts      []Host
	Datastores []string // folders and pools shared by several hosts
	ReadOnly   bool
}

// Hosts reads the list. An error is a live.Mistake.
func Hosts(at live.Address) (l List, err error) {
	if err := at.Allow(); err != nil {
		return l, err
	}
	name, err := fileOf(at)
	if err != nil {
		return l, &live.Mistake{Err: err}
	}
	f, err := readFile(name)
	if err != nil {
		return l, &live.Mistake{Err: err}
	}
	for _, s := range f.hosts {
		l.Hosts = append(l.Hosts, Host{Name: s.name, URI: s.uri, Migration: s.migration})
	}
	l.Datastores, l.ReadOnly = f.datastores, f.readOnly
	return l, nil
}
