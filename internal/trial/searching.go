package trial

import (
	"context"
	"fmt"

	"plimsoll/internal/collect"
	"plimsoll/internal/measure"
	"plimsoll/internal/service"
	"plimsoll/internal/trial/search"
)

// newSearch is the search that the trial is.
func (a *attempt) newSearch() *search.Search {
	host := collect.Env{Machine: a.session.machines.Machine, Dir: a.session.machines.Scratch}
	if a.session.sim != nil {
		host.Machine = nil
	}
	return &search.Search{
		Trial: a, Say: func(note string) { a.session.reporter.say(PhaseMeasure, 0, note) }, Now: a.session.schedule.now,
		Seen: func(r *measure.Recorder) bool {
			a.session.reporter.load(PhaseMeasure, r.Intervals(), a.crew)
			return false
		},
		Study: a.study, Plan: a.session.bench.Plan, At: a.trial, Alone: a.session.schedule.blocks == 1 && len(a.session.bench.Plan.Arms) == 1,
		Tiles: tiling{a}.judgeProbe(), Kind: a.kind, Load: a.load, Record: a.record, Earlier: a.session.schedule.records, Sources: a.session.bench.Catalog.Sources, Host: host,
	}
}

// Renew has the data as new for a probe that is not the first.
func (a *attempt) Renew(ctx context.Context) error {
	a.session.reporter.say(PhasePrepare, 0, "")
	if err := a.prepare(ctx); err != nil {
		return err
	}
	return a.settleService(ctx)
}

// Scaler is the service whose servers a growth adds.
func (a *attempt) Scaler() (service.Scaler, error) {
	if a.study.Tiled() {
		return tiling{a}, nil
	}
	return a.session.services.Scaler()
}

// Fill prepares servers that were just started, which are empty and not at rest.
func (a *attempt) Fill(ctx context.Context) error {
	if a.study.Tiled() {
		if err := a.prepare(ctx); err != nil {
			return err
		}
		return a.settle(ctx)
	}
	if err := a.load.Load.Prepare(ctx, a.driver.EnvOf(a.crew.Lead())); err != nil {
		return fmt.Errorf("prepare workload %s: %w", a.kind.Name, err)
	}
	return a.settle(ctx)
}
