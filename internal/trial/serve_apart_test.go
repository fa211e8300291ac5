package trial

import (
	"context"
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

// A service is refused where plimsoll could not ask it, before anything is touched.
func TestAServiceOnAnotherMachineIsRefused(t *testing.T) {
	c := &study.Catalog{Services: []service.Kind{service.Define(service.Kind{Name: "shelf", Doc: "holds files", Speaks: []string{"shelf"}}, shelf{},
		func(s shelf) (service.Service, error) { return s, nil })}}
	s := &session{
		Bench:    &Bench{Study: &study.Study{Platform: study.Use{Kind: "far"}, Service: &study.Use{Kind: "shelf"}}, Catalog: c, Platform: apart{}},
		machines: &machines.Inventory{Catalog: c}, kind: workload.Kind{Name: "reader", Speaks: []string{"shelf"}},
	}
	_, err := s.checkService(t.Context(), plan.Arm{}, s.machines.Alone(s.kind, nil), &Needs{})
	if err == nil || !strings.Contains(err.Error(), "cannot talk through a machine of platform far") {
		t.Errorf("on another machine: %v", err)
	}
	s.machines.Machine = dialer{}
	if _, err := s.checkService(t.Context(), plan.Arm{}, s.machines.Alone(s.kind, nil), &Needs{}); err != nil {
		t.Errorf("on another machine through which plimsoll talks: %v", err)
	}
	s.machines.Machine, s.Platform = nil, nil
	if _, err := s.checkService(t.Context(), plan.Arm{}, s.machines.Alone(s.kind, nil), &Needs{}); err != nil {
		t.Errorf("on this one: %v", err)
	}
}
