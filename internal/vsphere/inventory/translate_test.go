package inventory

import (
	"reflect"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

func TestEventsInOurTerms(t *testing.T) {
	t.Parallel()
	s := small()
	s.advance(epoch)
	before := s.model
	vm := &types.VmEventArgument{Vm: id("VirtualMachine", 0), EntityEventArgument: types.EntityEventArgument{Name: "web"}}
	host := &types.HostEventArgument{Host: id("HostSystem", 1), EntityEventArgument: types.EntityEventArgument{Name: "esx1"}}
	from := types.HostEventArgument{Host: id("HostSystem", 0), EntityEventArgument: types.EntityEventArgument{Name: "esx0"}}
	event := types.Event{CreatedTime: epoch, Vm: vm, Host: host, FullFormattedMessage: "message"}
	by := event
	by.UserName = "EXAMPLE\\anna"
	migrated := types.VmMigratedEvent{VmEvent: types.VmEvent{Event: by}, SourceHost: from}
	automatic := types.DrsVmMigratedEvent{VmMigratedEvent: types.VmMigratedEvent{VmEvent: types.VmEvent{Event: event}, SourceHost: from}}
	gone := event
	gone.Vm = &types.VmEventArgument{Vm: id("VirtualMachine", 99), EntityEventArgument: types.EntityEventArgument{Name: "old%2fname"}}
	gone.Host = nil
	for name, c := range map[string]struct {
		event types.BaseEvent
		want  live.Event
	}{
		"migration":         {&migrated, live.Event{Kind: live.VMMoved, VM: "web (vm-0)", Host: "esx1", From: "esx0", By: "EXAMPLE\\anna"}},
		"migration by DRS":  {&automatic, live.Event{Kind: live.VMMoved, VM: "web (vm-0)", Host: "esx1", From: "esx0", By: "DRS"}},
		"power on":          {&types.DrsVmPoweredOnEvent{VmPoweredOnEvent: types.VmPoweredOnEvent{VmEvent: types.VmEvent{Event: event}}}, live.Event{Kind: live.VMStarted, VM: "web (vm-0)", Host: "esx1", By: "DRS"}},
		"restart":           {&types.VmRestartedOnAlternateHostEvent{VmPoweredOnEvent: types.VmPoweredOnEvent{VmEvent: types.VmEvent{Event: event}}, SourceHost: from}, live.Event{Kind: live.VMRestarted, VM: "web (vm-0)", Host: "esx1", From: "esx0", By: "vSphere HA"}},
		"restart, extended": {&types.EventEx{Event: event, EventTypeId: "com.vmware.vc.ha.VmRestartedByHAEvent"}, live.Event{Kind: live.VMRestarted, VM: "web (vm-0)", Host: "esx1", From: "esx0", By: "vSphere HA"}},
		"removal":           {&types.VmRemovedEvent{VmEvent: types.VmEvent{Event: gone}}, live.Event{Kind: live.VMRemoved, VM: "old/name"}},
		"failed migration":  {&types.VmFailedMigrateEvent{VmEvent: types.VmEvent{Event: event}}, live.Event{Kind: live.TaskFailed, VM: "web (vm-0)", Host: "esx1"}},
		"broken rule":       {&types.DrsRuleViolationEvent{VmEvent: types.VmEvent{Event: event}}, live.Event{Kind: live.OtherMessage, VM: "web (vm-0)", Host: "esx1", By: "DRS"}},
		"extended error":    {&types.EventEx{Event: event, EventTypeId: "esx.problem.x", Severity: "error"}, live.Event{Kind: live.OtherMessage, VM: "web (vm-0)", Host: "esx1"}},
		"extended message":  {&types.EventEx{Event: event, EventTypeId: "vim.event.x", Severity: "info"}, live.Event{}},
		"login":             {&types.UserLoginSessionEvent{}, live.Event{}},
	} {
		got, worth := translate(c.event, s, before)
		if c.want.Kind != "" {
			c.want.At, c.want.Text = epoch, "message"
		}
		if worth != (c.want.Kind != "") || worth && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s is %+v (%t)\nwant %+v", name, got, worth, c.want)
		}
	}
}

func TestAChangedHostIsAnEvent(t *testing.T) {
	t.Parallel()
	s := small()
	s.advance(epoch)
	before := s.model
	s.take(modifies(id("HostSystem", 0), "runtime.inMaintenanceMode", true), epoch)
	s.take(modifies(id("HostSystem", 1), "runtime.connectionState", types.HostSystemConnectionStateNotResponding), epoch)
	s.advance(epoch)
	events := s.model.hostChanges(before, []live.Event{{At: epoch, Kind: live.HostChanged, Host: "esx0", By: "anna", Text: "entered maintenance mode"}}, epoch)
	want := []live.Event{
		{At: epoch, Kind: live.HostChanged, Host: "esx0", By: "anna", Text: "from connected to maintenance: entered maintenance mode"},
		{At: epoch, Kind: live.HostChanged, Host: "esx1", Text: "from connected to failed"},
	}
	if !reflect.DeepEqual(events, want) {
		t.Errorf("events %+v\nwant   %+v", events, want)
	}
	if s.model.state.Hosts[1].State != cluster.Failed {
		t.Errorf("host %+v", s.model.state.Hosts[1])
	}
	if again := s.model.hostChanges(s.model, nil, epoch); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
}
