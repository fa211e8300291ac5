package drive

import (
	"context"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial/machines"
)

// Every runs the loads of all machines at once, each by itself for the length of the stage, with a recorder of its own.
// out has the sum of the subject's machines.
func (d *Driver) Every(ctx context.Context, stage load.Stage, out *measure.Recorder) error {
	driving, subject := d.ArmGroups.Driving(), d.ArmGroups.Subject()
	begin, whole := NewBarrier(len(driving)), measure.NewMerger(len(subject), out)
	for _, m := range driving {
		m.Recorder = measure.NewRecorder(nil)
	}
	for i, m := range subject {
		m.Recorder = measure.NewRecorder(func(r *measure.Recorder) bool {
			all := r.Intervals()
			return !whole.Take(i, all[len(all)-1])
		})
	}
	err := driving.Each(ctx, func(ctx context.Context, m *machines.Member) error {
		own := stage
		own.Seed = machines.DataSeed(stage.Seed, m.Index)
		return d.solo(ctx, &run{m, Load{m.Load, m.Settings}, own, begin})
	})
	d.conclude(subject, out)
	return err
}
