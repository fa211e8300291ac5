// Package live is the service live: a live cluster that you provide, by the address for
// plimsoll cluster --live.
package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/live"
	hosts "plimsoll/internal/live/libvirt"
	"plimsoll/internal/load"
	"plimsoll/internal/service"
)

// Settings are the settings of the service.
type Settings struct {
	Address string `name:"address" doc:"URL of the cluster, as for --live: vsphere://, libvirt:// or proxmox://; credentials are references in it"`
}

// schemes are the management interfaces, which are the protocols of the service.
var schemes = []string{"vsphere", "libvirt", "proxmox"}

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Name:   "live",
		Doc:    "live cluster you provide: a vCenter, hosts with libvirt, or Proxmox VE",
		Speaks: schemes,
	}, Settings{}, build)
}

func build(s Settings) (service.Service, error) {
	at, err := live.ParseAddress(s.Address)
	switch {
	case s.Address == "":
		return nil, errors.New("address is required: the URL of a cluster, such as libvirt:///etc/plimsoll/lab.yaml")
	case err != nil:
		return nil, fmt.Errorf("address: %w", err)
	case !slices.Contains(schemes, at.Scheme):
		return nil, fmt.Errorf("address: unknown kind of cluster %q; known: %s", at.Scheme, strings.Join(schemes, ", "))
	case at.Scheme == "libvirt" && at.Host != "":
		return nil, errors.New("address: must be the absolute path of the list of hosts, such as libvirt:///etc/plimsoll/lab.yaml")
	}
	for _, name := range []string{"ca"} {
		if file := at.Parameters[name]; file != "" && !filepath.IsAbs(file) {
			return nil, fmt.Errorf("address: must be the absolute path of %s", name)
		}
	}
	return &provided{s, at}, nil
}

// provided is a running cluster.
type provided struct {
	settings Settings
	at       live.Address
}

// Check reads the credentials, and the list of hosts with libvirt. The load connects itself.
func (p *provided) Check(context.Context, service.Env) (service.Needs, error) {
	for _, name := range []string{"password", "token"} {
		if _, err := p.at.Secret(name); err != nil {
			return service.Needs{}, err
		}
	}
	if p.at.Scheme == "libvirt" {
		if _, err := hosts.Hosts(p.at); err != nil {
			return service.Needs{}, err
		}
	}
	return service.Needs{}, nil
}

// Endpoints implements service.External.
func (p *provided) Endpoints() map[string]load.Endpoint {
	return map[string]load.Endpoint{p.at.Scheme: {Network: "tcp", Address: p.at.Host, User: p.at.User, URL: p.settings.Address}}
}

// Start finds the cluster: the load connects itself.
func (p *provided) Start(context.Context, service.Env) (service.Instance, error) {
	return service.Use(service.Live{Endpoints: p.Endpoints()}), nil
}
