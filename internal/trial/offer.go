package trial

import (
	"context"
	"errors"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/fault"
)

// underLoad runs the load with the event in its middle, and reads the counters at its end.
func (a *attempt) underLoad(ctx context.Context, run func(context.Context) error, before time.Duration, from time.Time) error {
	err := a.event.During(ctx, a.recorder, func() error {
		err := tiling{a}.beside(ctx, func() error { return run(ctx) })
		seconds := time.Since(from).Seconds() // an event may last beyond the load
		a.record.Counters = map[string]float64{"lab.cpu": (ownCPU() - before).Seconds() / seconds}
		a.session.services.Observe(ctx, a.record, seconds)
		a.session.tiles.Observe(ctx, a.record)
		return err
	})
	if refused := (*fault.Refusal)(nil); errors.As(err, &refused) {
		return err
	}
	return fault.Voids(err)
}

// Offer runs one load: in virtual time, or on the machines of the subject.
func (a *attempt) Offer(ctx context.Context, l drive.Load, stage load.Stage, out *measure.Recorder) error {
	if a.study.Load.Growth.Tiles() {
		return tiling{a}.amid(ctx, func(ctx context.Context) error { return a.driver.Every(ctx, stage, out) })
	}
	if a.session.sim == nil {
		return a.driver.Together(ctx, l, stage, out)
	}
	counters, err := a.session.sim.Simulate(ctx, platform.Run{
		Trial: a.trial.Number, Block: a.trial.Block, Slot: a.trial.Slot, Probe: len(a.record.Probes), Levels: a.loadLevels(), Demand: l.Load.Demand(), Stage: stage,
	}, out)
	a.record.Counters = counters
	return err
}

// loadLevels are the levels that no setting of the machine stands for.
func (a *attempt) loadLevels() map[string]string {
	levels := map[string]string{}
	for name, level := range a.arm.Levels {
		if !a.session.settings.Varies(name) {
			levels[name] = level
		}
	}
	return levels
}

// ownCPU is the CPU time of this process. The counter made of it, lab.cpu, is a
// share of one CPU.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
