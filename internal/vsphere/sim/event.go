package sim

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
)

// down stops the vCenter, with its sessions and connections, or starts it again.
func (s *Server) down(is bool) {
	s.front.Down(is)
	if is {
		s.front.Expire()
		s.server.CloseClientConnections()
	}
}

// hostFails fails a host, or recovers it.
func (s *Server) hostFails(ctx context.Context, name string, fails bool) error {
	for _, e := range s.Model.Map().All("HostSystem") {
		if config.Plain(e.Entity().Name) != name {
			continue
		}
		h, ok := s.engine.Wrap(e).(interface {
			ShutdownHostTask(*simulator.Context, *types.ShutdownHost_Task) soap.HasFault
			ReconnectHostTask(*simulator.Context, *types.ReconnectHost_Task) soap.HasFault
		})
		if !ok {
			break
		}
		own := *s.Model.Service.Context
		own.Context = ctx
		own.Session = &simulator.Session{UserSession: types.UserSession{UserName: "plimsoll"}, Registry: simulator.NewRegistry(), Map: s.Model.Map()}
		var body soap.HasFault
		if fails {
			body = h.ShutdownHostTask(&own, &types.ShutdownHost_Task{This: e.Reference(), Force: true})
		} else {
			body = h.ReconnectHostTask(&own, &types.ReconnectHost_Task{This: e.Reference()})
		}
		if f := body.Fault(); f != nil {
			return fmt.Errorf("%T", f.VimFault())
		}
		return nil
	}
	return fmt.Errorf("no host %q", name)
}
