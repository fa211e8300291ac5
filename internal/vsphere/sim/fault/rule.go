// Package fault injects faults: operations that fail or hang, calls that fail or are
// disturbed, and timed failures of sessions, hosts and the vCenter.
package fault

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/disturbance"
	"plimsoll/internal/vsphere/sim/task"
)

// rule is a fault to inject.
type rule struct {
	text   string
	target string // an operation, a method, or *; session, vcenter, or the name of a host

	// For operations and calls.
	share     float64
	fault     reflect.Type // nil for a disturbance
	disturbed disturbance.Disturbance

	// What happens at a time.
	at    string // session, vcenter or host; empty for operations and calls
	after time.Duration
	last  time.Duration // downtime of the vCenter or the host; 0 is permanent for a host
	every time.Duration // 0: once
}

// parse parses a rule, such as cloneVm=0.02:InsufficientResourcesFault or session=expire@30s.
func parse(text string) (*rule, error) {
	i := strings.LastIndexByte(text, '=')
	if i < 1 {
		return nil, fmt.Errorf("the fault %q must be TARGET=SHARE:FAULT or TARGET=EVENT@TIME, such as cloneVm=0.02:InsufficientResourcesFault or session=expire@30s", text)
	}
	r := &rule{text: text, target: text[:i]}
	var err error
	if strings.Contains(text[i+1:], "@") {
		err = r.event(text[i+1:])
	} else {
		err = r.random(text[i+1:])
	}
	if err != nil {
		return nil, fmt.Errorf("the fault %q: %w", text, err)
	}
	return r, nil
}

// hostOperations are those of hosts.
var hostOperations = [...]string{"enterMaintenanceMode", "exitMaintenanceMode", "shutdownHost", "reconnectHost"}

// operation reports whether a rule applies to an operation: its task fails, not the call.
func (r *rule) operation() bool {
	return slices.Contains(task.Names(), r.target) || slices.Contains(hostOperations[:], r.target)
}

// method reports whether a text is a method of the API, or *.
func method(text string) bool {
	if text == "*" {
		return true
	}
	t, ok := types.TypeFunc()(text)
	if !ok || t.Kind() != reflect.Struct {
		return false
	}
	this, has := t.FieldByName("This")
	return has && this.Type == reflect.TypeFor[types.ManagedObjectReference]()
}

// random parses SHARE:FAULT.
func (r *rule) random(text string) error {
	if !r.operation() && !method(r.target) {
		return fmt.Errorf("%s is neither an operation nor a method of the vSphere API; operations: %v", r.target, append(task.Names(), hostOperations[:]...))
	}
	share, what, ok := strings.Cut(text, ":")
	if !ok {
		return fmt.Errorf("%q must be SHARE:FAULT, such as 0.02:NoPermission", text)
	}
	var err error
	if r.share, err = strconv.ParseFloat(share, 64); err != nil || !(r.share > 0 && r.share <= 1) {
		return fmt.Errorf("the share %q must be above 0 and at most 1", share)
	}
	if t, known := types.TypeFunc()(what); known && t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(reflect.TypeFor[types.BaseMethodFault]()) {
		r.fault = t
		return nil
	}
	return r.disturb(what)
}

// disturb parses a disturbance.
func (r *rule) disturb(what string) error {
	kind, delay, timed := strings.Cut(what, ":")
	is := disturbance.Kind(kind)
	if !slices.Contains(disturbance.Kinds(), is) || r.operation() && is != disturbance.Hang && is != disturbance.Slow {
		return fmt.Errorf("%q is neither a fault of the vSphere API nor one of %v (of operations: hang, slow)", what, disturbance.Kinds())
	}
	r.disturbed.Kind = is
	if timed != (is == disturbance.Slow) {
		return fmt.Errorf("%q: slow requires a time, such as slow:2s, the others have none", what)
	}
	var err error
	if timed {
		r.disturbed.Delay, err = duration(delay)
	}
	return err
}

// event parses EVENT@AFTER, EVENT@AFTER+DOWN or EVENT@AFTER/EVERY.
func (r *rule) event(text string) error {
	event, times, _ := strings.Cut(text, "@")
	of, host := strings.CutPrefix(r.target, "host:")
	switch {
	case r.target == "session" && event == "expire", r.target == "vcenter" && event == "restart":
		r.at = r.target
	case host && of != "" && event == "fail":
		r.at, r.target = "host", of
	default:
		return fmt.Errorf("events are session=expire, vcenter=restart and host:NAME=fail")
	}
	var err error
	times, every, repeated := strings.Cut(times, "/")
	times, last, down := strings.Cut(times, "+")
	if r.after, err = duration(times); err != nil {
		return err
	}
	if down {
		if r.last, err = duration(last); err != nil {
			return err
		}
	}
	if repeated {
		if r.every, err = duration(every); err != nil {
			return err
		}
	}
	switch {
	case down && r.at == "session":
		return fmt.Errorf("an expired session does not return: remove +%s", last)
	case repeated && r.at == "host" && !down:
		return fmt.Errorf("a host that fails repeatedly must return in between: add +TIME before /%s", every)
	case repeated && (r.every == 0 || r.every < r.last):
		return fmt.Errorf("it is repeated before its end: the time after / must be longer")
	}
	return nil
}

// longest is the maximum time in a rule.
const longest = 30 * 24 * time.Hour

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("the time %q: %w", text, err)
	}
	if d < 0 || d > longest {
		return 0, fmt.Errorf("the time %v must be from 0 to %v", d, longest)
	}
	return d, nil
}

// make creates a fault.
func (r *rule) make() types.BaseMethodFault {
	is, _ := reflect.New(r.fault).Interface().(types.BaseMethodFault)
	return is
}

// hits reports whether the n-th operation or call has the fault.
func (r *rule) hits(seed, n uint64) bool {
	return task.Chance(seed, r.text, n) <= r.share
}
