package collect

import (
	"context"
	"fmt"

	"plimsoll/internal/platform"
)

// Guest reports the host resources that a guest received, as a check of the guest's own
// counters.
func Guest() Source {
	return Source{
		Name: "guest",
		Doc:  "host resources that a guest received, from the scheduling statistics of its threads",
		Counters: append([]Counter{
			cumulative("guest.run", "1", "host CPUs used by the guest's vCPUs"),
			cumulative("guest.ready", "1", "vCPUs ready to run and waiting for a CPU (ready time)"),
			cumulative("guest.others", "1", "host CPUs used by the guest's disk and network threads, by a server of its disk, and by the guest that exports it over a fabric"),
			cumulative("guest.exits", "1/s", "VM exits"),
			cumulative("guest.forced_idle", "1", "host CPUs that had to be idle beside the guest's threads, by core scheduling"),
		}, checkpointCounters()...),
		For: func(m platform.Machine) bool { _, hosted := m.(platform.Hosted); return hosted },
		Open: func(ctx context.Context, p Env) (Read, error) {
			m, ok := p.Machine.(platform.Hosted)
			if !ok {
				return nil, fmt.Errorf("%s is not a guest", p.Machine.Name())
			}
			var last platform.Checkpoints
			return tried(ctx, func(ctx context.Context) (map[string]float64, error) {
				g, err := m.Given(ctx)
				if err != nil {
					return nil, err
				}
				values := map[string]float64{}
				if !g.Elsewhere {
					values["guest.run"], values["guest.ready"], values["guest.others"] = g.Run.Seconds(), g.Ready.Seconds(), g.Others.Seconds()
				}
				if g.Exits >= 0 {
					values["guest.exits"] = float64(g.Exits)
				}
				if g.ForcedIdle != nil {
					values["guest.forced_idle"] = g.ForcedIdle.Seconds()
				}
				if c := g.Checkpoints; c != nil {
					addCheckpoints(values, *c, last)
					last = *c
				}
				return values, nil
			})
		},
	}
}
