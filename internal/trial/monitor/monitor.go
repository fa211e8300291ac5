// Package monitor reads what the monitor of a study sampled during the load of a trial.
package monitor

import (
	"context"
	"fmt"
	"maps"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// Monitor is that of a study. It does nothing in a study without one.
type Monitor struct {
	Study   *study.Study
	Catalog *study.Catalog
	Target  func(protocol string) (load.Endpoint, error) // of the service that runs

	feed collect.MonitorReader // while a load runs
}

// limits of the connection, and of the reading of the samples beyond those that are waited for
const (
	openLimit = time.Minute
	readLimit = 3 * time.Minute
)

// Check connects to a monitor that the settings name, and reports what it lacks.
func (m *Monitor) Check(ctx context.Context) error {
	if m.Study.Monitor == nil {
		return nil
	}
	kind, monitored, err := m.kind()
	if err != nil || !monitored.Own {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	feed, err := monitored.Open(ctx, load.Endpoint{})
	if err == nil {
		err = feed.Close()
	}
	if err != nil {
		return fmt.Errorf("monitor %s: %w", kind.Name, err)
	}
	return nil
}

func (m *Monitor) kind() (*collect.Monitor, collect.Monitored, error) {
	kind := m.Catalog.Monitor(m.Study.Monitor.Kind)
	if kind == nil {
		return nil, collect.Monitored{}, fmt.Errorf("monitor %s: not in this version of plimsoll", m.Study.Monitor.Kind)
	}
	monitored, err := kind.New(m.Study.Monitor.Settings)
	if err != nil {
		return nil, collect.Monitored{}, fmt.Errorf("monitor %s: %w", kind.Name, err)
	}
	return kind, monitored, nil
}

// Open connects before a load. Where that fails, the record says so, and has no counters of the
// monitor.
func (m *Monitor) Open(ctx context.Context, record *measure.Record) {
	if m.Study.Monitor == nil {
		return
	}
	if err := m.open(ctx); err != nil {
		m.missing(record, err.Error())
	}
}

func (m *Monitor) open(ctx context.Context) (err error) {
	kind, monitored, err := m.kind()
	if err != nil {
		return err
	}
	at := load.Endpoint{}
	if !monitored.Own {
		if at, err = m.Target(kind.Speaks); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	m.feed, err = monitored.Open(ctx, at)
	return err
}

// Read enters the counters of the window of a load, which began at an instant, and disconnects. It
// returns the samples as a CSV file; nil for none.
func (m *Monitor) Read(ctx context.Context, record *measure.Record, began time.Time) (table []byte) {
	if m.feed == nil {
		return nil
	}
	defer m.Close(record)
	switch w := record.Window; {
	case ctx.Err() != nil:
		return nil
	case began.IsZero() || w.End <= w.Cut:
		m.missing(record, "the load has no window")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	sampled, err := m.feed.Over(ctx, began, record.Window)
	if err != nil {
		m.missing(record, err.Error())
		return nil
	}
	maps.Copy(record.Counters, sampled.Counters)
	for _, line := range sampled.Missing {
		m.missing(record, line)
	}
	return sampled.Table
}

// Close disconnects, where a load ended early.
func (m *Monitor) Close(record *measure.Record) {
	if m.feed == nil {
		return
	}
	if err := m.feed.Close(); err != nil {
		m.missing(record, err.Error())
	}
	m.feed = nil
}

func (m *Monitor) missing(record *measure.Record, what string) {
	record.Missing = append(record.Missing, fmt.Sprintf("monitor %s: %s", m.Study.Monitor.Kind, what))
}
