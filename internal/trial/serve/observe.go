package serve

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/service"
)

// Count reads the counters of the service at the beginning of a load.
func (s *Services) Count(ctx context.Context, record *measure.Record) {
	if s.Current == nil {
		return
	}
	var err error
	if s.Current.before, err = s.Current.Instance.Counters(ctx); err != nil {
		s.Current.mute = true
		record.Missing = append(record.Missing, fmt.Sprintf("service %s: %v", s.Current.Kind.Name, err))
	}
}

// Observe records the settings and counters of the service at the end of a load. A counter
// of events becomes a rate over the load.
func (s *Services) Observe(ctx context.Context, record *measure.Record, seconds float64) {
	if s.Current == nil {
		return
	}
	name := s.Current.Kind.Name
	seen, err := s.Current.Instance.Observed(ctx)
	if err != nil {
		record.Warnings = append(record.Warnings, fmt.Sprintf("service %s does not report its settings: %v", name, err))
	}
	for setting, value := range seen {
		record.Observed[name+"."+setting] = value
	}
	after, err := s.Current.Instance.Counters(ctx)
	if err != nil {
		s.Current.mute = true
		record.Missing = append(record.Missing, fmt.Sprintf("service %s: %v", name, err))
		return
	}
	for _, m := range s.Current.Kind.Metrics {
		v, ok := after[m.Name]
		if !ok {
			continue
		}
		if service.Total(m) {
			from, counted := s.Current.before[m.Name]
			if !counted {
				continue
			}
			v = (v - from) / seconds
		}
		record.Counters[m.Name] = v
	}
	service.Divide(s.Current.Kind.Ratios, record.Counters)
}

// Derive adds what follows from the counters of the whole record, those of other sources included, and from its values.
func (s *Services) Derive(record *measure.Record) {
	if s.Current == nil {
		return
	}
	service.Divide(s.Current.Kind.Ratios, record.Counters)
	if derive := s.Current.Kind.Derive; derive != nil {
		derive(record.Counters, served(record.Values))
	}
}

// served are the values of the load of a service: of all groups together, where there are others than the subject, for the service counts the operations of all.
func served(values map[string]float64) map[string]float64 {
	all := maps.Clone(values)
	for name, v := range values {
		if metric, of := strings.CutPrefix(name, measure.All); of {
			all[metric] = v
		}
	}
	return all
}

// MostDraining limits how long a service may take after a load to be done with it, as far as it is waited for.
const MostDraining = 10 * time.Second

// Drain waits after a load until the service is done with it, and records what is counted until then. What is not
// known in time is left out, and so it is where something happened to the service in the middle of the load.
func (s *Services) Drain(ctx context.Context, record *measure.Record) {
	if s.Current == nil || len(s.Current.Kind.Drained) == 0 || s.Current.before == nil || s.Current.mute {
		return
	}
	of, ok := s.Current.Instance.(service.Settling)
	if d := s.Disturbed(); !ok || d != nil && d.Pending() != "" {
		return
	}
	limit, cancel := context.WithTimeout(ctx, MostDraining)
	defer cancel()
	for {
		busy, known, err := of.Unsettled(limit)
		if !known || err != nil {
			return
		}
		if busy == "" {
			break
		}
		if Wait(limit, asking) != nil {
			return
		}
	}
	after, err := s.Current.Instance.Counters(ctx)
	if err != nil {
		return
	}
	counted := map[string]float64{}
	for name, v := range after {
		if from, ok := s.Current.before[name]; ok {
			counted[name] = v - from
		}
	}
	service.Divide(s.Current.Kind.Drained, counted)
	for _, r := range s.Current.Kind.Drained {
		if v, ok := counted[r.Name]; ok {
			record.Counters[r.Name] = v
		}
	}
}

// Logged is the service's log during the trial, also after its death.
func (s *Services) Logged(ctx context.Context) []byte {
	if s.Current == nil {
		return nil
	}
	of, ok := s.Current.Instance.(service.Logging)
	if !ok {
		return nil
	}
	fresh := of.Logged(ctx)
	if s.Current.Kind.Events != nil {
		s.Current.log = append(s.Current.log, fresh...)
		s.Current.log = bytes.Clone(s.Current.log[max(0, len(s.Current.log)-mostLog):])
	}
	return fresh
}
