// Package otlpexport sends the metrics of a run to an OpenTelemetry collector: those that plimsoll serve has for Prometheus, and the values of the
// valid trials.
package otlpexport

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/history"
	"plimsoll/internal/history/metrics"
	"plimsoll/internal/lab"
	"plimsoll/internal/otlp"
)

// Send sends the metrics of the run in a results folder. Samples have the time at which their trial, or the run, ended.
func Send(ctx context.Context, l *lab.Lab, dir string, to *otlp.Client) (otlp.Outcome, error) {
	run, err := history.Read(dir)
	if err != nil {
		return otlp.Outcome{}, err
	}
	trials, err := l.Metrics(dir, run.ID)
	if err != nil {
		return otlp.Outcome{}, err
	}
	if run.State == history.Damaged {
		return otlp.Outcome{}, fmt.Errorf("read %s: %s", dir, run.Answer)
	}
	b := otlp.Batch{Families: append(metrics.Of([]history.Run{run}), trials...), Version: l.Version, Start: run.Started, End: run.Ended}
	if b.End.IsZero() { // it goes on
		b.End = time.Now()
	}
	return to.Send(ctx, b)
}
