package serve

import (
	"bytes"
	"context"
	"fmt"

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
	s.Current.Kind.Divide(record.Counters)
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
