package hand

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/task"
)

const (
	// readBack bounds reading what an action has done, after the context of the action ended.
	readBack     = 30 * time.Second
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// carryOut starts a task on an object and waits for its end. Where the reply to the start was
// lost, it looks for the task among the recent ones of the object.
func (h *Hand) carryOut(ctx context.Context, on reference, begin func() (reference, error)) error {
	ref, err := begin()
	if err != nil {
		if !uncertain(err) {
			return err
		}
		found, trouble := h.unfinished(ctx, on)
		if trouble != nil || found == (reference{}) {
			return err
		}
		ref = found
	}
	_, err = h.tasks.Wait(ctx, ref)
	return err
}

// unfinished finds a task that changes an object's place or state and has not ended.
func (h *Hand) unfinished(ctx context.Context, on reference) (found reference, err error) {
	err = h.persist(ctx, func(ctx context.Context) error {
		var recent []reference
		err := h.read(ctx, on, []string{"recentTask"}, func(_ string, value any) {
			if list, is := value.(types.ArrayOfManagedObjectReference); is {
				recent = list.ManagedObjectReference
			}
		})
		if err != nil {
			return err
		}
		for _, ref := range recent {
			err := h.read(ctx, ref, []string{"info"}, func(_ string, value any) {
				if info, is := value.(types.TaskInfo); is && info.CompleteTime == nil && changes(info.DescriptionId) {
					found = ref
				}
			})
			if err != nil && !fault.Is(err, &types.ManagedObjectNotFound{}) {
				return err
			}
		}
		return nil
	})
	return found, err
}

// changes reports whether a kind of tasks moves or reconfigures a VM, or has to do with maintenance.
func changes(kind string) bool {
	kind = strings.ToLower(kind)
	return strings.Contains(kind, "migrate") || strings.Contains(kind, "relocate") || strings.Contains(kind, "maintenancemode") || strings.Contains(kind, "reconfigure")
}

// persist repeats reading until the vCenter answers, as after a restart. When the context has
// ended, it tries a last time.
func (h *Hand) persist(ctx context.Context, do func(context.Context) error) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := do(ctx)
		if err == nil || !uncertain(err) {
			return err
		}
		select {
		case <-ctx.Done():
			last, done := context.WithTimeout(context.WithoutCancel(ctx), readBack)
			defer done()
			return do(last)
		case <-time.After(pause):
		}
	}
}

// uncertain reports whether an error leaves open what was done: all but the vCenter's own word.
func uncertain(err error) bool {
	var method types.BaseMethodFault
	_, faulted := fault.As(err, &method)
	return !faulted && !session.Permanent(err) || errors.Is(err, task.ErrVanished)
}
