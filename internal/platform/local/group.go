package local

import (
	"context"
	"fmt"

	"plimsoll/internal/platform"
)

// seat is a place on this machine for one of several loads. All share what the machine has.
type seat struct {
	*machine
	name string
}

// Name tells the seats of a group from each other.
func (s *seat) Name() string { return s.name }

// Address is where the seats reach each other: they are on one machine.
func (s *seat) Address(context.Context) (string, error) { return "127.0.0.1", nil }

// Members are as many places on this machine as a group wants.
func (l *local) Members(_ context.Context, g platform.Group) ([]platform.Machine, error) {
	if g.Machines < 1 {
		return nil, fmt.Errorf("%d machines: ask for 1 or more", g.Machines)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	prefix := g.Name
	if prefix == "" {
		prefix = "local"
	}
	all := l.seats[g.Name]
	for len(all) < g.Machines {
		all = append(all, &seat{l.machine, fmt.Sprintf("%s-%d", prefix, len(all)+1)})
	}
	if l.seats == nil {
		l.seats = map[string][]*seat{}
	}
	l.seats[g.Name] = all
	members := make([]platform.Machine, g.Machines)
	for i := range members {
		members[i] = all[i]
	}
	return members, nil
}
