// Package inventory reads a cluster of a vCenter into the cluster model, and follows it: one
// PropertyCollector for all objects, one collector of events.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/session"
)

const (
	// samplePeriod is the minimum interval at which vCenter refreshes the statistics of VMs.
	samplePeriod = 20 * time.Second
	// pageObjects is the number of objects in a response. A vCenter may send fewer.
	pageObjects    = 1000
	firstPause     = time.Second
	longestPause   = 30 * time.Second
	secondsOfAWait = 20
)

// Source watches a cluster. It implements live.Source.
type Source struct {
	session *session.Session
	cluster reference
	book    *NameIndex
	period  time.Duration // sampling interval of unchanged demand
	pause   time.Duration // before the first attempt to reconnect
}

// NewSource is a source of a cluster, which also fills a book of its objects.
func NewSource(s *session.Session, of types.ManagedObjectReference, b *NameIndex) *Source {
	return &Source{session: s, cluster: of, book: b, period: samplePeriod, pause: firstPause}
}

// errGone ends a watch.
var errGone = errors.New("the cluster no longer exists")

// reported wraps an error of the receiver of steps.
type reported struct{ error }

// Watch implements live.Source.
func (s *Source) Watch(ctx context.Context, report func(live.Step) error) error {
	var last *state
	since := newCursor()
	for pause := s.pause; ; pause = min(2*pause, longestPause) {
		f := &follow{source: s, client: s.session.Client(), state: newState(), before: last, events: since, report: func(step live.Step) error {
			if err := report(step); err != nil {
				return reported{err}
			}
			return nil
		}}
		err := f.run(ctx)
		var theirs reported
		switch {
		case errors.As(err, &theirs):
			return theirs.error
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case last == nil && f.state.model == nil:
			return fmt.Errorf("read the cluster: %w", err)
		case session.Permanent(err) || s.gone(err):
			return err
		}
		if f.state.model != nil {
			pause = s.pause
			lost := live.Event{At: time.Now(), Kind: live.ControlLost, Text: err.Error()}
			last = f.state
			if err := report(live.Step{At: lost.At, Cluster: last.model.state, Events: []live.Event{lost}}); err != nil {
				return err
			}
		}
		if err := live.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// gone reports whether the cluster itself no longer exists.
func (s *Source) gone(err error) (is bool) {
	if errors.Is(err, errGone) {
		return true
	}
	fault.In(err, func(f types.BaseMethodFault, _ string, _ []types.LocalizableMessage) bool {
		missing, ok := f.(*types.ManagedObjectNotFound)
		is = ok && missing.Obj == s.cluster
		return is
	})
	return is
}

// follow is the part of a watch over one connection.
type follow struct {
	source *Source
	client *vim25.Client
	state  *state
	before *state // of the previous connection; nil for the first
	events *cursor
	report func(live.Step) error

	collector reference
	view      reference
	version   string
	gone      bool // the cluster
}

func (f *follow) run(ctx context.Context) error {
	defer f.free()
	if err := f.subscribe(ctx); err != nil {
		return err
	}
	if err := f.first(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if _, err := f.wait(ctx, secondsOfAWait); err != nil {
			return err
		}
		now := time.Now()
		f.state.resample(now, f.source.period)
		if err := f.step(ctx, now, nil); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// first reads everything, and reports it.
func (f *follow) first(ctx context.Context) error {
	if err := f.pages(ctx, f.take); err != nil {
		return err
	}
	if len(f.state.hosts)+len(f.state.vms) == 0 && f.state.root.name == "" {
		return errors.New("the cluster is not visible to this account")
	}
	var back []live.Event
	now := time.Now()
	if f.before != nil {
		f.state.inherit(f.before)
		back = []live.Event{{At: now, Kind: live.ControlBack, Text: "reconnected to the vCenter"}}
	}
	return f.step(ctx, now, back)
}

// step reports changes, if there are any. Events are read first, and then changes that they
// may refer to, so that a step shows the effects of its events.
func (f *follow) step(ctx context.Context, now time.Time, events []live.Event) error {
	news, err := f.events.read(ctx, f.client)
	if err != nil {
		return err
	}
	for more := len(news) > 0; more; {
		if more, err = f.wait(ctx, 0); err != nil {
			return err
		}
	}
	if err := f.state.complete(ctx, f.client, now); err != nil {
		return err
	}
	renamed := f.state.rebuild || len(f.state.resort) > 0
	before := f.state.model
	if before == nil && f.before != nil {
		before = f.before.model
	}
	changed := f.state.advance(now)
	if renamed {
		f.source.book.fill(f.state.model)
	}
	for _, event := range news {
		if told, worth := translate(event, f.state, before); worth {
			events = append(events, told)
		}
	}
	events = f.state.model.hostChanges(before, events, now)
	if !changed && len(events) == 0 {
		return nil
	}
	return f.report(live.Step{At: now, Cluster: f.state.model.state, Events: events})
}

// subscribe makes the vCenter collect changes of the cluster's objects and events.
func (f *follow) subscribe(ctx context.Context) error {
	c := f.client
	created, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{This: c.ServiceContent.PropertyCollector})
	if err != nil {
		return err
	}
	f.collector = created.Returnval
	kinds := []string{"HostSystem", "ResourcePool", "VirtualMachine"}
	if f.view, err = view(ctx, c, f.source.cluster, kinds); err != nil {
		return err
	}
	if err := f.events.open(ctx, c, f.source.cluster); err != nil {
		return err
	}
	objects := types.PropertyFilterSpec{ObjectSet: []types.ObjectSpec{inView(f.view), {Obj: f.source.cluster}}}
	for _, kind := range append(kinds, "ClusterComputeResource") {
		objects.PropSet = append(objects.PropSet, types.PropertySpec{Type: kind, PathSet: properties[kind]})
	}
	events := types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: f.events.collector}},
		PropSet:   []types.PropertySpec{{Type: f.events.collector.Type, PathSet: []string{"latestPage"}}},
	}
	for _, spec := range []types.PropertyFilterSpec{objects, events} {
		if _, err := methods.CreateFilter(ctx, c, &types.CreateFilter{This: f.collector, Spec: spec}); err != nil {
			return err
		}
	}
	return nil
}

// wait waits some seconds for the next page of changes. It reports whether more pages of the
// same changes follow.
func (f *follow) wait(ctx context.Context, seconds int32) (more bool, err error) {
	answer, err := methods.WaitForUpdatesEx(ctx, f.client, f.request(f.version, seconds))
	if err != nil || answer.Returnval == nil {
		return false, err
	}
	f.take(answer.Returnval)
	if f.gone {
		return false, errGone
	}
	return answer.Returnval.Truncated != nil && *answer.Returnval.Truncated, nil
}

// request requests the changes since a version.
func (f *follow) request(version string, seconds int32) *types.WaitForUpdatesEx {
	return &types.WaitForUpdatesEx{This: f.collector, Version: version,
		Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(seconds), MaxObjectUpdates: pageObjects}}
}

// take records a set of changes.
func (f *follow) take(changes *types.UpdateSet) {
	f.version = changes.Version
	now := time.Now()
	for _, set := range changes.FilterSet {
		for _, u := range set.ObjectSet {
			f.gone = f.gone || u.Obj == f.source.cluster && u.Kind == types.ObjectUpdateKindLeave
			if u.Obj != f.events.collector {
				f.state.take(u, now)
			}
		}
	}
}

// free releases the collectors on the vCenter.
func (f *follow) free() {
	c := f.client
	if f.collector.Value != "" {
		release(func(ctx context.Context) error {
			_, err := methods.CancelWaitForUpdates(ctx, c, &types.CancelWaitForUpdates{This: f.collector})
			return err
		})
		release(func(ctx context.Context) error {
			_, err := methods.DestroyPropertyCollector(ctx, c, &types.DestroyPropertyCollector{This: f.collector})
			return err
		})
	}
	if f.view.Value != "" {
		release(func(ctx context.Context) error {
			_, err := methods.DestroyView(ctx, c, &types.DestroyView{This: f.view})
			return err
		})
	}
	f.events.close(c)
}
