package inventory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
)

const (
	eventPage  = 100
	mostMissed = 1000 // events that one query returns
)

// cursor reads each event of a cluster once, also across connections.
type cursor struct {
	collector reference
	since     time.Time      // of the newest event that was read, on the vCenter's clock
	seen      map[int32]bool // keys of the events of that instant
	missed    []types.BaseEvent
}

func newCursor() *cursor { return &cursor{seen: map[int32]bool{}} }

// open collects the events of a cluster from now on. Those between two connections are queried.
func (e *cursor) open(ctx context.Context, c *vim25.Client, of reference) error {
	clock, err := methods.GetCurrentTime(ctx, c)
	if err != nil {
		return err
	}
	filter := types.EventFilterSpec{Entity: &types.EventFilterSpecByEntity{Entity: of, Recursion: types.EventFilterSpecRecursionOptionAll}}
	if !e.since.IsZero() {
		filter.Time = &types.EventFilterSpecByTime{BeginTime: &e.since}
		filter.MaxCount = mostMissed
		answer, err := methods.QueryEvents(ctx, c, &types.QueryEvents{This: *c.ServiceContent.EventManager, Filter: filter})
		if err != nil {
			return err
		}
		e.missed = answer.Returnval
		filter.MaxCount = 0
	} else {
		e.since = *clock
	}
	filter.Time = &types.EventFilterSpecByTime{BeginTime: clock}
	created, err := methods.CreateCollectorForEvents(ctx, c, &types.CreateCollectorForEvents{This: *c.ServiceContent.EventManager, Filter: filter})
	if err != nil {
		return err
	}
	e.collector = created.Returnval
	// The latest page only says that there is something to read.
	_, err = methods.SetCollectorPageSize(ctx, c, &types.SetCollectorPageSize{This: e.collector, MaxCount: 1})
	return err
}

func (e *cursor) close(c *vim25.Client) {
	if e.collector.Value != "" {
		ref := e.collector
		e.collector = reference{}
		release(func(ctx context.Context) error {
			_, err := methods.DestroyCollector(ctx, c, &types.DestroyCollector{This: ref})
			return err
		})
	}
}

// read gets the events that have come, oldest first.
func (e *cursor) read(ctx context.Context, c *vim25.Client) ([]types.BaseEvent, error) {
	list := e.missed
	e.missed = nil
	for {
		answer, err := methods.ReadNextEvents(ctx, c, &types.ReadNextEvents{This: e.collector, MaxCount: eventPage})
		if err != nil {
			return nil, err
		}
		list = append(list, answer.Returnval...)
		if len(answer.Returnval) < eventPage {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b types.BaseEvent) int {
		x, y := a.GetEvent(), b.GetEvent()
		return cmp.Or(x.CreatedTime.Compare(y.CreatedTime), cmp.Compare(x.Key, y.Key))
	})
	return slices.DeleteFunc(list, func(event types.BaseEvent) bool { return !e.fresh(event.GetEvent()) }), nil
}

// fresh reports whether an event was not read before. Events come in the order of their time.
func (e *cursor) fresh(event *types.Event) bool {
	switch at := event.CreatedTime; {
	case at.Before(e.since):
		return false
	case at.After(e.since):
		e.since = at
		clear(e.seen)
	}
	if e.seen[event.Key] {
		return false
	}
	e.seen[event.Key] = true
	return true
}

// The components that cause events without an account.
const (
	byDRS = "DRS"
	byHA  = "vSphere HA"
)

// translate is an event in our terms. Events of no interest to who watches load and
// placement are left out.
func translate(event types.BaseEvent, s *state) (live.Event, bool) {
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
	}
	return out, true
}

// source is the host that a VM came from.
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

// kindOf is the kind of an event, and the component that causes those without an account.
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

// troubleOf is the kind of an event that tells of something that failed.
func troubleOf(event types.BaseEvent) (kind live.EventKind, component string) {
	switch event.(type) {
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
	}
	return "", ""
}

// vmName is the name of a VM in the model, or the given one where the model lacks it.
func (s *state) vmName(ref reference, otherwise string) string {
	if at, has := s.model.vms[ref]; has {
		return s.model.state.VMs[at].Name
	}
	return plain(otherwise)
}

func (s *state) hostName(ref reference, otherwise string) string {
	if at, has := s.model.hosts[ref]; has {
		return s.model.state.Hosts[at].Name
	}
	return plain(otherwise)
}
