package drive

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial/machines"
)

// Alongside runs the load of the subject while the other groups drive theirs. All begin
// together, and the background ends with the subject.
func (d *Driver) Alongside(ctx context.Context, stage load.Stage, subject func() error) error {
	background := d.ArmGroups.Background()
	if len(background) == 0 {
		return subject()
	}
	return d.amid(ctx, background, stage, subject)
}

func (d *Driver) amid(ctx context.Context, background machines.Set, stage load.Stage, subject func() error) error {
	d.begin = NewBarrier(len(background) + len(d.ArmGroups.Subject()))
	over := make(chan struct{})
	failed := make(chan error, 1)
	for _, m := range background {
		m.Recorder = measure.NewRecorder(func(*measure.Recorder) bool {
			select {
			case <-over:
				return true
			default:
				return false
			}
		})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := d.begin
	go func() {
		failed <- background.Each(ctx, func(ctx context.Context, m *machines.Member) error {
			own := stage
			own.Seed = machines.DataSeed(stage.Seed, m.Index)
			if err := d.solo(ctx, &run{m, Load{m.Load, m.Settings}, own, begin}); err != nil {
				return fmt.Errorf("%s: %w", Title(m), err)
			}
			return nil
		})
	}()
	err := subject()
	close(over)
	if err != nil {
		cancel()
	}
	if beside := <-failed; beside != nil && err == nil {
		return beside
	} else if err != nil && beside != nil && !errors.Is(beside, context.Canceled) {
		return errors.Join(err, beside)
	}
	return err
}
