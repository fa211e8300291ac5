package trial

import (
	"context"
	"fmt"

	"plimsoll/internal/collect"
	"plimsoll/internal/service"
	"plimsoll/internal/trial/search"
)

// newSearch is the search that the trial is.
func (a *attempt) newSearch() *search.Search {
	host := collect.Place{Machine: a.machines.Machine, Dir: a.machines.Scratch}
	if a.sim != nil {
		host.Machine = nil
	}
	return &search.Search{
		Trial: a, Say: func(note string) { a.reporter.say(PhaseMeasure, 0, note) }, Now: a.schedule.now,
		Study: a.Study, Plan: a.Plan, At: a.Trial, Alone: a.schedule.blocks == 1 && len(a.Plan.Arms) == 1,
		Kind: a.kind, Load: a.load, Record: a.record, Earlier: a.schedule.records, Sources: a.Catalog.Sources, Host: host,
	}
}

// Renew has the data as new for a probe that is not the first.
func (a *attempt) Renew(ctx context.Context) error {
	a.reporter.say(PhasePrepare, 0, "")
	if err := a.prepare(ctx); err != nil {
		return err
	}
	return a.settleService(ctx)
}

// Scaler is the service whose servers a growth adds.
func (a *attempt) Scaler() (service.Scaler, error) { return a.services.Scaler() }

// Fill prepares servers that were just started, which are empty and not at rest.
func (a *attempt) Fill(ctx context.Context) error {
	if err := a.load.Load.Prepare(ctx, a.driver.EnvOf(a.crew.Lead())); err != nil {
		return fmt.Errorf("prepare workload %s: %w", a.kind.Name, err)
	}
	return a.settle(ctx)
}
