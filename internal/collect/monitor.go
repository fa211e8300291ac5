package collect

import (
	"context"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// Monitor is a system beside the machines of a study that samples counters by itself, such as
// a vCenter. It is a value in the catalog, which a study names with settings.
type Monitor struct {
	Name, Doc string
	Defaults  any // the settings: this struct is the schema (see package parameter)
	Metrics   []measure.Metric
	// Speaks is the protocol of services that are such a system themselves.
	Speaks string
	// New applies settings. Its errors are mistakes of the study.
	New func(settings parameter.Settings) (Monitored, error)
}

// Monitored is a monitor with its settings.
type Monitored struct {
	// Own reports whether the settings name the system. Otherwise it is the service of the
	// study.
	Own bool
	// Open connects. It gets the endpoint of the service unless the settings name a system.
	Open func(ctx context.Context, service load.Endpoint) (MonitorReader, error)
}

// MonitorReader reads a monitor.
type MonitorReader interface {
	// Over reads the samples in a window of a load that began at an instant of this host's
	// clock. It waits a bounded time for late samples.
	Over(ctx context.Context, began time.Time, w measure.Window) (Sampled, error)
	Close() error
}

// Sampled is the samples of a monitor in a window.
type Sampled struct {
	Counters map[string]float64 // by the name of the metric
	Missing  []string           // missing or doubtful counters, one line each
	Table    []byte             // the samples, as a CSV file
}
