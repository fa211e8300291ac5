package serve

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// apart is a platform whose machine is another one.
type apart struct{ platform.Platform }

func (apart) Scratch() string { return "/scratch" }

// dialer is a machine through which plimsoll talks.
type dialer struct{ platform.Machine }

func (dialer) Dial(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }

// far is a service that lacks nothing and is never started.
type far struct{}

func (far) Check(context.Context, service.Env) (service.Needs, error) { return service.Needs{}, nil }
func (far) Start(context.Context, service.Env) (service.Instance, error) {
	return nil, errors.ErrUnsupported
}

// A service is refused where plimsoll could not ask it, before anything is touched.
func TestAServiceOnAnotherMachineIsRefused(t *testing.T) {
	c := &study.Catalog{Services: []service.Kind{service.Define(service.Kind{Name: "shelf", Doc: "holds files", Speaks: []string{"shelf"}}, far{},
		func(s far) (service.Service, error) { return s, nil })}}
	s := &Services{
		Study:    &study.Study{Platform: study.Use{Kind: "far"}, Service: &study.Use{Kind: "shelf"}},
		Machines: &machines.Inventory{Catalog: c, Platform: apart{}},
	}
	kind := workload.Kind{Name: "reader", Speaks: []string{"shelf"}}
	_, err := s.Check(t.Context(), plan.Arm{}, s.Machines.Alone(kind, nil))
	if err == nil || !strings.Contains(err.Error(), "cannot reach through a machine of platform far") {
		t.Errorf("on another machine: %v", err)
	}
	s.Machines.Machine = dialer{}
	if _, err := s.Check(t.Context(), plan.Arm{}, s.Machines.Alone(kind, nil)); err != nil {
		t.Errorf("on another machine through which plimsoll talks: %v", err)
	}
	s.Machines.Machine, s.Machines.Platform = nil, nil
	if _, err := s.Check(t.Context(), plan.Arm{}, s.Machines.Alone(kind, nil)); err != nil {
		t.Errorf("on this one: %v", err)
	}
}
