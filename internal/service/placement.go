package service

import (
	"context"
	"fmt"
	"slices"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service/ports"
)

// Placement is the number of private instances of a service, and their addresses. A service
// with several instances embeds it in its settings.
type Placement struct {
	Instances int                `name:"instances" doc:"servers to start; operations use them round robin; rate and connections are per server" min:"1" max:"4096"`
	Network   string             `name:"network" doc:"network of a server: loopback, its own network namespace behind a veth pair, or loopback with one port for all servers" choices:"host,namespaces,shared"`
	Batching  parameter.Duration `name:"batching" doc:"interrupt deferral of the veth device (gro_flush_timeout with NAPI deferral); 0s disables deferral" max:"100ms"`
}

// Alone is the default placement: one server on the loopback.
func Alone() Placement { return Placement{Instances: 1, Network: onHost} }

const (
	onHost       = "host"
	inNamespaces = "namespaces"
	// atOnePort has all servers listen at one port (SO_REUSEPORT): the kernel divides new connections among those that run.
	atOnePort = "shared"
)

func (p Placement) placement() Placement { return p }

// placed is a struct of settings that embeds Placement.
type placed interface{ placement() Placement }

// spread runs several servers of a service that supports it, unless it is already running.
func spread(one Service, settings any) (Service, error) {
	s, ok := settings.(placed)
	if !ok || slices.ContainsFunc(parameter.Fields(settings), func(f parameter.Field) bool { return f.Name == "address" && f.Default != "" }) {
		return one, nil
	}
	p := s.placement()
	if p.Batching > 0 && p.Network != inNamespaces {
		return nil, fmt.Errorf("batching %s needs network %s: the loopback has no queue", p.Batching, inNamespaces)
	}
	if shares, ok := one.(interface{ shares() bool }); p.Network == atOnePort && !(ok && shares.shares()) {
		return nil, fmt.Errorf("network %s: only the servers of nginx without TLS can listen at one port", atOnePort)
	}
	return &fleet{one, p}, nil
}

// fleet is a service of several servers, or of servers with a network of their own.
type fleet struct {
	one Service
	Placement
}

// Check returns the needs of one server, and checks that the machine supports its network.
func (f *fleet) Check(ctx context.Context, env Env) (Needs, error) {
	needs, err := f.one.Check(ctx, env)
	if err != nil {
		return needs, err
	}
	needs.Disk *= int64(f.Instances)
	needs.Servers = f.Instances
	if f.Network != inNamespaces {
		return needs, nil
	}
	tools, err := findTools(ctx, env.Machine)
	if err != nil {
		return needs, err
	}
	if needs.Versions == nil {
		needs.Versions = map[string]string{}
	}
	needs.Versions["iproute2"], needs.Versions["ethtool"] = tools.ip.Version, tools.ethtool.Version
	needs.Changes = append(needs.Changes, "makes network namespaces plimsoll-*, each with a veth pair and addresses in "+cables+", and removes them")
	return needs, nil
}

// Start starts the servers. If one fails, all are stopped.
func (f *fleet) Start(ctx context.Context, env Env) (Instance, error) {
	s := &servers{one: f.one, env: env, placement: f.Placement}
	if f.Network == inNamespaces {
		var err error
		if s.wiring, err = newWiring(ctx, env, f.Batching); err != nil {
			return nil, err
		}
	}
	if f.Network == atOnePort {
		free, err := ports.Free(ctx, env.Machine, 1)
		if err != nil {
			return nil, err
		}
		s.env.shared = free[0]
	}
	if err := makeFolder(ctx, env); err != nil {
		return nil, err
	}
	if err := s.Scale(ctx, f.Instances); err != nil {
		return nil, err
	}
	return s, nil
}
