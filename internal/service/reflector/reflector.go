// Package reflector is the peer of a network test, a service of plimsoll. It responds to
// requests or receives a stream, over TCP and UDP, and counts received data. It is a separate
// process of the same program, so that its CPU time is separate from the client's.
package reflector

import (
	"context"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"

	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// Command is the subcommand of plimsoll that calls Serve.
const Command = "reflect"

// Parameters are the settings.
type Parameters struct {
	Address string          `name:"address" doc:"host:port of a reflector you provide, started there with plimsoll reflect; empty starts one here"`
	Threads int             `name:"threads" doc:"threads of a test; 0 is one per connection, up to the number of CPUs" min:"0" max:"1024"`
	Drop    parameter.Share `name:"drop" doc:"share of datagrams dropped on receipt"`
}

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Name:   "reflector",
		Doc:    "peer of a network test: answers requests and receives streams over TCP and UDP",
		Speaks: []string{peer.Protocol},
		Metrics: []measure.Metric{
			{Name: "reflector.clients", Unit: "1/s", Doc: "control connections accepted"},
			{Name: "reflector.tests", Unit: "1/s", Doc: "tests started"},
		},
	}, Parameters{}, build)
}

func build(p Parameters) (service.Service, error) {
	r := &reflector{Parameters: p}
	if p.Address == "" {
		return r, nil
	}
	at, err := service.ParseAddress(p.Address)
	if err != nil {
		return nil, err
	}
	if at.Network != "tcp" {
		return nil, fmt.Errorf("address %s: must be host:port", p.Address)
	}
	if p.Threads != 0 || p.Drop != 0 {
		return nil, fmt.Errorf("address and %s are mutually exclusive: they are set when a reflector starts", given(p))
	}
	r.at = at
	return r, nil
}

func given(p Parameters) string {
	if p.Threads != 0 {
		return "threads"
	}
	return "drop"
}

type reflector struct {
	Parameters
	at load.Endpoint
}

// Check finds the reflector that you provide, or the program to start.
func (r *reflector) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	if r.Address != "" {
		_, err := live(ctx, env.Machine, r.at)
		return service.Needs{}, err
	}
	_, err := service.Self(ctx, env.Machine)
	return service.Needs{}, err
}

// Start starts a reflector on a port chosen by the kernel, or uses the one at the address.
func (r *reflector) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	if r.Address != "" {
		l, err := live(ctx, env.Machine, r.at)
		if err != nil {
			return nil, err
		}
		return service.Use(l), nil
	}
	return service.Own{
		Name: "the reflector", Command: Command,
		Options: func(place service.Location) ([]byte, error) {
			return Options{Listen: net.JoinHostPort(place.Host, "0"), Threads: r.Threads, Drop: float64(r.Drop), Seed: env.Seed}.Line(), nil
		},
		Ready: func(ctx context.Context, line []byte) (service.Live, error) {
			return live(ctx, env.Machine, load.Endpoint{Network: "tcp", Address: strings.TrimPrefix(string(line), saying)})
		},
	}.Start(ctx, env)
}

// live is a running reflector.
func live(ctx context.Context, m platform.Machine, at load.Endpoint) (service.Live, error) {
	if _, err := status(ctx, m, at); err != nil {
		return service.Live{}, err
	}
	return service.Live{
		Endpoints: map[string]load.Endpoint{peer.Protocol: at},
		Observe: func(ctx context.Context) (map[string]string, error) {
			s, err := status(ctx, m, at)
			if err != nil {
				return nil, err
			}
			return map[string]string{
				"threads": strconv.Itoa(s.Threads),
				"drop":    parameter.Share(math.Round(s.Drop*1e10) / 1e10).String(),
			}, nil
		},
		Count: func(ctx context.Context) (map[string]float64, error) {
			s, err := status(ctx, m, at)
			if err != nil {
				return nil, err
			}
			return map[string]float64{"reflector.clients": float64(s.Clients), "reflector.tests": float64(s.Tests)}, nil
		},
	}, nil
}

func status(ctx context.Context, m platform.Machine, at load.Endpoint) (peer.Status, error) {
	// The service reports a wrong address.
	conn, err := service.Dial(ctx, m, at)
	if err != nil {
		return peer.Status{}, err
	}
	s, err := peer.Greet(ctx, conn)
	if err != nil {
		return peer.Status{}, err
	}
	status, err := s.Status(ctx)
	if closing := s.Close(); err == nil && closing != nil && !strings.Contains(closing.Error(), "closed") {
		err = closing
	}
	return status, err
}
