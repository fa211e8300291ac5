package task

import (
	"context"
	"slices"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// watch watches the tasks until all have ended, and reports whether it received any update.
func (w *Waiter) watch(list []reference) (heard bool, err error) {
	ctx, done := context.WithCancel(context.Background())
	defer done()
	c := w.client
	created, err := methods.CreateListView(ctx, c, &types.CreateListView{This: *c.ServiceContent.ViewManager})
	if err != nil {
		return heard, err
	}
	view := created.Returnval
	defer w.release(func(ctx context.Context) {
		_, _ = methods.DestroyView(ctx, c, &types.DestroyView{This: view})
	})
	added, err := methods.ModifyListView(ctx, c, &types.ModifyListView{This: view, Add: list})
	if err != nil {
		return heard, err
	}
	for _, ref := range added.Returnval {
		w.end(ref, types.TaskInfo{}, ErrVanished)
	}
	collector, err := w.collect(ctx, view)
	if err != nil {
		return heard, err
	}
	defer w.release(func(ctx context.Context) {
		_, _ = methods.DestroyPropertyCollector(ctx, c, &types.DestroyPropertyCollector{This: collector})
	})
	w.open(view, list)
	defer w.shut()
	for version := ""; w.any(); {
		answer, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{This: collector, Version: version, Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(secondsOfAWait)}})
		if err != nil {
			return heard, err
		}
		if answer.Returnval == nil {
			if err := w.verify(ctx); err != nil {
				return heard, err
			}
			continue
		}
		version = answer.Returnval.Version
		heard = true
		w.take(answer.Returnval)
	}
	return heard, nil
}

// verify reads tasks without recent updates: one that vanished before it was watched never
// changes.
func (w *Waiter) verify(ctx context.Context) error {
	for _, ref := range w.pending() {
		objects, err := mo.RetrievePropertiesEx(ctx, w.client, types.RetrievePropertiesEx{This: w.client.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: ref}}, PropSet: []types.PropertySpec{{Type: ref.Type, PathSet: []string{"info"}}},
		}}})
		if fault.Is(err, &types.ManagedObjectNotFound{}) {
			w.end(ref, types.TaskInfo{}, ErrVanished)
			continue
		}
		if err != nil {
			return err
		}
		for _, o := range objects {
			for _, p := range o.PropSet {
				if info, is := p.Val.(types.TaskInfo); is {
					w.finish(ref, info)
				}
			}
		}
	}
	return nil
}

// collect makes a collector of the changes of the tasks in a view.
func (w *Waiter) collect(ctx context.Context, view reference) (reference, error) {
	created, err := methods.CreatePropertyCollector(ctx, w.client, &types.CreatePropertyCollector{This: w.client.ServiceContent.PropertyCollector})
	if err != nil {
		return reference{}, err
	}
	_, err = methods.CreateFilter(ctx, w.client, &types.CreateFilter{This: created.Returnval, Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: view, Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: view.Type, Path: "view"}}}},
		PropSet:   []types.PropertySpec{{Type: "Task", PathSet: []string{"info.state", "info.error", "info.result", "info.queueTime", "info.startTime", "info.completeTime"}}},
	}})
	return created.Returnval, err
}

// open admits new tasks to the view, starting with those added since the list was made.
func (w *Waiter) open(view reference, list []reference) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view = view
	for ref := range w.waiting {
		if !slices.Contains(list, ref) {
			go w.extend(view, ref)
		}
	}
}

func (w *Waiter) shut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view, w.ended = reference{}, nil
}

func (w *Waiter) release(free func(context.Context)) {
	ctx, done := context.WithTimeout(context.Background(), callLimit)
	defer done()
	free(ctx)
}

// take applies changes, and ends the waits for ended tasks.
func (w *Waiter) take(set *types.UpdateSet) {
	for _, f := range set.FilterSet {
		for _, u := range f.ObjectSet {
			if u.Kind == types.ObjectUpdateKindLeave {
				w.end(u.Obj, types.TaskInfo{}, ErrVanished)
				continue
			}
			if info, known := w.note(u); known {
				w.finish(u.Obj, info)
			}
		}
	}
}

// note stores an update of a task.
func (w *Waiter) note(u types.ObjectUpdate) (types.TaskInfo, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.waiting[u.Obj]
	if t == nil {
		return types.TaskInfo{}, false
	}
	for _, c := range u.ChangeSet {
		switch v := c.Val.(type) {
		case types.TaskInfoState:
			t.info.State = v
		case types.LocalizedMethodFault:
			t.info.Error = &v
		default:
			t.note(c)
		}
	}
	return t.info, true
}

func (t *wait) note(c types.PropertyChange) {
	at, timed := instant(c.Val)
	switch {
	case c.Name == "info.result":
		t.info.Result = c.Val
	case !timed:
	case c.Name == "info.queueTime":
		t.info.QueueTime = at
	case c.Name == "info.startTime":
		t.info.StartTime = &at
	case c.Name == "info.completeTime":
		t.info.CompleteTime = &at
	}
}

func (w *Waiter) finish(ref reference, info types.TaskInfo) {
	switch info.State {
	case types.TaskInfoStateSuccess:
		w.end(ref, info, nil)
	case types.TaskInfoStateError:
		w.end(ref, info, failed(info.Error))
	}
}

func instant(v any) (time.Time, bool) {
	switch v := v.(type) {
	case time.Time:
		return v, true
	case *time.Time:
		if v != nil {
			return *v, true
		}
	}
	return time.Time{}, false
}
