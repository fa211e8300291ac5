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
	// readBack is the time limit to read back an action after the end of its context.
	readBack     = 30 * time.Second
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// carryOut starts a task on an object and waits for its end. If the reply to the start is
// lost, it searches the recent tasks of the object.
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

// unfinished finds an unfinished task that changes an object's host or state.
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

// changes reports whether a type of task moves or reconfigures a VM, or concerns maintenance.
func changes(kind string) bool {
	kind = strings.ToLower(kind)
	return strings.Contains(kind, "migrate") || strings.Contains(kind, "relocate") || strings.Contains(kind, "maintenancemode") || strings.Contains(kind, "reconfigure")
}

// persist repeats reading until the vCenter responds, such as after a restart. After the end
// of the context it tries once more.
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

// uncertain reports whether an error leaves the outcome open: all but a fault of the vCenter.
func uncertain(err error) bool {
	var method types.BaseMethodFault
	_, faulted := fault.As(err, &method)
	return !faulted && !session.Permanent(err) || errors.Is(err, task.ErrVanished)
}
