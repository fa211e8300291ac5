package libvirt

import (
	"plimsoll/internal/live"
)

// Host is a host of the list that the address of a cluster names.
type Host struct {
	Name, URI string
	Migration string // URI at which its hypervisor receives memory; empty where the daemon says
}

// List is the list of hosts that the address of a cluster names.
type List struct {
	Hosts      []Host
	Datastores []string // folders and pools that several hosts share
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
