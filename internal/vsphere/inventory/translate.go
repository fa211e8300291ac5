package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/config"
)

// The originators of events without an account.
const (
	byDRS = "DRS"
	byHA  = "vSphere HA"
)

// translate converts an event. Events that do not concern load or placement are skipped.
func translate(event types.BaseEvent, s *state, before *model) (live.Event, bool) {
	e := event.GetEvent()
	out := live.Event{At: e.CreatedTime, By: e.UserName, Text: e.FullFormattedMessage}
	if e.Vm != nil {
		out.VM = s.vmName(e.Vm.Vm, e.Vm.Name)
	}
	if e.Host != nil {
		out.Host = s.hostName(e.Host.Host, e.Host.Name)
	}
	component := ""
	out.Kind, component = kindOf(event)
	if out.Kind == "" {
		return out, false
	}
	if out.By == "" {
		out.By = component
	}
	if from := source(event); from != nil {
		out.From = s.hostName(from.Host, from.Name)
	} else if out.Kind == live.VMRestarted && e.Vm != nil {
		out.From = before.hostOf(e.Vm.Vm)
	}
	return out, true
}

// hostOf is the name of a VM's host; empty for none.
func (m *model) hostOf(vm reference) string {
	if m == nil {
		return ""
	}
	at, has := m.vms[vm]
	if !has || m.state.VMs[at].Host == cluster.Nowhere {
		return ""
	}
	return m.state.Hosts[m.state.VMs[at].Host].Name
}

// hostChanges reports the former and the new state of changed hosts: in the vCenter's event,
// or in an additional one.
func (m *model) hostChanges(before *model, events []live.Event, now time.Time) []live.Event {
	if before == nil || before == m {
		return events
	}
	for i, ref := range m.hostIDs {
		at, has := before.hosts[ref]
		if !has || before.state.Hosts[at].State == m.state.Hosts[i].State {
			continue
		}
		name, text := m.state.Hosts[i].Name, fmt.Sprintf("from %s to %s", before.state.Hosts[at].State, m.state.Hosts[i].State)
		told := slices.IndexFunc(events, func(e live.Event) bool { return e.Kind == live.HostChanged && e.Host == name })
		if told >= 0 {
			events[told].Text = text + ": " + events[told].Text
			continue
		}
		events = append(events, live.Event{At: now, Kind: live.HostChanged, Host: name, Text: text})
	}
	return events
}

// source is the source host of a VM.
func source(event types.BaseEvent) *types.HostEventArgument {
	switch e := event.(type) {
	case *types.VmMigratedEvent:
		return &e.SourceHost
	case *types.DrsVmMigratedEvent:
		return &e.SourceHost
	case *types.VmRelocatedEvent:
		return &e.SourceHost
	case *types.VmRestartedOnAlternateHostEvent:
		return &e.SourceHost
	}
	return nil
}

// kindOf is the kind of an event, and the originator if it has no account.
func kindOf(event types.BaseEvent) (kind live.EventKind, component string) {
	switch event.(type) {
	case *types.VmMigratedEvent, *types.VmRelocatedEvent:
		return live.VMMoved, ""
	case *types.DrsVmMigratedEvent:
		return live.VMMoved, byDRS
	case *types.VmPoweredOnEvent:
		return live.VMStarted, ""
	case *types.DrsVmPoweredOnEvent:
		return live.VMStarted, byDRS
	case *types.VmPoweredOffEvent, *types.VmSuspendedEvent:
		return live.VMStopped, ""
	case *types.VmRestartedOnAlternateHostEvent:
		return live.VMRestarted, byHA
	case *types.VmCreatedEvent, *types.VmClonedEvent, *types.VmRegisteredEvent, *types.VmDeployedEvent, *types.VmDiscoveredEvent:
		return live.VMAdded, ""
	case *types.VmRemovedEvent:
		return live.VMRemoved, ""
	case *types.DasHostFailedEvent, *types.DasHostIsolatedEvent:
		return live.HostChanged, byHA
	case *types.EnteredMaintenanceModeEvent, *types.ExitMaintenanceModeEvent, *types.EnteredStandbyModeEvent, *types.ExitedStandbyModeEvent,
		*types.HostConnectedEvent, *types.HostConnectionLostEvent, *types.HostDisconnectedEvent, *types.HostShutdownEvent,
		*types.HostAddedEvent, *types.HostRemovedEvent:
		return live.HostChanged, ""
	case *types.DrsEnteredStandbyModeEvent, *types.DrsExitedStandbyModeEvent:
		return live.HostChanged, byDRS
	}
	return troubleOf(event)
}

// troubleOf is the kind of an event about a failure.
func troubleOf(event types.BaseEvent) (kind live.EventKind, component string) {
	switch event := event.(type) {
	case *types.VmFailedMigrateEvent, *types.VmRelocateFailedEvent, *types.VmCloneFailedEvent, *types.VmDeployFailedEvent,
		*types.VmFailedToPowerOnEvent, *types.VmFailedToPowerOffEvent, *types.VmFailedToSuspendEvent, *types.VmFailedToResetEvent,
		*types.TaskTimeoutEvent, *types.TimedOutHostOperationEvent, *types.CanceledHostOperationEvent:
		return live.TaskFailed, ""
	case *types.NotEnoughResourcesToStartVmEvent:
		return live.TaskFailed, byHA
	case *types.DrsRuleViolationEvent, *types.DrsSoftRuleViolationEvent, *types.DrsRuleComplianceEvent,
		*types.DrsInvocationFailedEvent, *types.DrsRecoveredFromFailureEvent, *types.DrsResourceConfigureFailedEvent,
		*types.DrsEnabledEvent, *types.DrsDisabledEvent:
		return live.OtherMessage, byDRS
	case *types.InsufficientFailoverResourcesEvent, *types.FailoverLevelRestored, *types.DasAdmissionControlDisabledEvent, *types.DasAdmissionControlEnabledEvent:
		return live.OtherMessage, byHA
	case *types.MigrationErrorEvent, *types.MigrationWarningEvent, *types.MigrationHostErrorEvent, *types.MigrationHostWarningEvent,
		*types.MigrationResourceErrorEvent, *types.MigrationResourceWarningEvent:
		return live.OtherMessage, ""
	case *types.EventEx:
		return extended(event)
	}
	return "", ""
}

// extended is the kind of an event with an identifier instead of a type, as those of HA have
// since vSphere 5.
func extended(e *types.EventEx) (kind live.EventKind, component string) {
	id := e.EventTypeId[strings.LastIndex(e.EventTypeId, ".")+1:]
	switch {
	case id == "VmRestartedByHAEvent":
		return live.VMRestarted, byHA
	case id == "DasHostFailedEvent", id == "DasHostIsolatedEvent", id == "HostStateChangedEvent":
		return live.HostChanged, byHA
	case strings.Contains(strings.ToLower(e.EventTypeId), ".ha."):
		return live.OtherMessage, byHA
	case e.Severity == string(types.EventEventSeverityError):
		return live.OtherMessage, ""
	}
	return "", ""
}

// vmName is the name of a VM in the model, or the given one if the model lacks it.
func (s *state) vmName(ref reference, otherwise string) string {
	if at, has := s.model.vms[ref]; has {
		return s.model.state.VMs[at].Name
	}
	return config.Plain(otherwise)
}

func (s *state) hostName(ref reference, otherwise string) string {
	if at, has := s.model.hosts[ref]; has {
		return s.model.state.Hosts[at].Name
	}
	return config.Plain(otherwise)
}
