package serve

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/service"
)

// Scaler is the running service, if it can have several servers. After a failure of it the next trial gets a fresh service.
func (s *Services) Scaler() (service.Scaler, error) {
	if s.Current == nil {
		return nil, errors.New("load.growth needs a service that can add servers")
	}
	fleet, ok := s.Current.Instance.(service.Scaler)
	if !ok {
		return nil, fmt.Errorf("service %s cannot have several servers", s.Current.Kind.Name)
	}
	return scaler{fleet, s.Current}, nil
}

// scaler is a service that is not trusted any more after a failure.
type scaler struct {
	service.Scaler
	of *Running
}

// Scale has so many servers.
func (s scaler) Scale(ctx context.Context, servers int) error {
	err := s.Scaler.Scale(ctx, servers)
	if err != nil {
		s.of.mute = true
	}
	return err
}
