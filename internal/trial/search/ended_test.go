package search

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/workload"
)

var errLost = errors.New("the connection is lost")

// lost is a trial whose servers cannot be reached.
type lost struct{ around }

func (l lost) Scaler() (service.Scaler, error) { return l, nil }
func (lost) Scale(context.Context, int) error  { return errLost }

// The first trouble with a load ends the trial, and leaves no goroutine.
func TestTroubleEndsASearch(t *testing.T) {
	most := .02
	within := []study.Limit{{Metric: "p99", Max: &most}}
	for name, asked := range map[string]study.Load{
		"peak":   {Peak: &study.Peak{From: 100, To: 1000, Within: within}},
		"growth": {Growth: &study.Growth{From: 1, To: 9, Step: 1, Within: within}},
	} {
		for _, alone := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				s := &Search{
					Trial: lost{}, Say: func(string) {}, Study: &study.Study{Load: asked}, Plan: &plan.Plan{Seed: 1}, Alone: alone,
					Kind: workload.Kind{New: func(parameter.Settings) (workload.Load, error) { return nil, errLost }},
					Load: drive.Load{Settings: parameter.Settings{}}, Record: &measure.Record{},
				}
				if err := s.Run(t.Context()); !errors.Is(err, errLost) {
					t.Errorf("%s, alone %v: %v", name, alone, err)
				}
			})
		}
	}
}
