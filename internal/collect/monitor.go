package collect

import (
	"context"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// Monitor is a system beside the machines of a study that samples counters by itself, such as a
// vCenter. A study that is to have its counters names it, with settings. It is a value in the
// catalog.
type Monitor struct {
	Name, Doc string
	Defaults  any // the settings: this struct is the schema (see package parameter)
	Metrics   []measure.Metric
	// Speaks is the protocol of the services that are such a system themselves.
	Speaks string
	// New applies settings. Its errors are mistakes of the study.
	New func(settings parameter.Settings) (Monitored, error)
}

// Monitored is a monitor with its settings.
type Monitored struct {
	// Own says that the settings name the system. Otherwise the service of the study is it.
	Own bool
	// Open connects. It gets the endpoint of the service where the settings name no system.
	Open func(ctx context.Context, service load.Endpoint) (Feed, error)
}

// Feed is a monitor that is read.
type Feed interface {
	// Over reads what was sampled in a window of a load, which began at an instant of this
	// host's clock. It waits a bounded time for samples that are late.
	Over(ctx context.Context, began time.Time, w measure.Window) (Sampled, error)
	Close() error
}

// Sampled is what a monitor sampled in a window.
type Sampled struct {
	Counters map[string]float64 // by the name of the metric
	Missing  []string           // what is missing or in doubt, a line each
	Table    []byte             // the samples, as a CSV file
}
