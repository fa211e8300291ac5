package local

import (
	"context"
	"fmt"

	"plimsoll/internal/platform"
)

// Members are seats on this machine, as many for each group as it has machines.
func (l *local) Members(_ context.Context, groups ...platform.Group) ([][]platform.Machine, error) {
	return platform.InTurn(groups, l.members)
}

func (l *local) members(g platform.Group) ([]platform.Machine, error) {
	if g.Machines < 1 {
		return nil, fmt.Errorf("%d machines: must be 1 or more", g.Machines)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	prefix := g.Name
	if prefix == "" {
		prefix = "local"
	}
	all := l.seats[g.Name]
	for len(all) < g.Machines {
		all = append(all, &groupMember{l.machine, fmt.Sprintf("%s-%d", prefix, len(all)+1)})
	}
	if l.seats == nil {
		l.seats = map[string][]*groupMember{}
	}
	l.seats[g.Name] = all
	members := make([]platform.Machine, g.Machines)
	for i := range members {
		members[i] = all[i]
	}
	return members, nil
}
