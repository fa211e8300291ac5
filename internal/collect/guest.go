package collect

import (
	"context"
	"fmt"

	"plimsoll/internal/platform"
)

// Guest tells what the host gives to a machine that is a guest: the other side of what the
// guest's own counters say.
func Guest() Source {
	return Source{
		Name: "guest",
		Doc:  "what the host gives to a guest, from the scheduler's account of its threads",
		Counters: []Counter{
			cumulative("guest.run", "1", "CPUs of the host that the guest's vCPUs got"),
			cumulative("guest.ready", "1", "vCPUs that could have run, while the CPU was another's"),
			cumulative("guest.others", "1", "CPUs of the host for the guest's disk and network threads"),
			cumulative("guest.exits", "1/s", "exits from the guest to the hypervisor"),
		},
		For: func(m platform.Machine) bool { _, hosted := m.(platform.Hosted); return hosted },
		Open: func(ctx context.Context, p Place) (Read, error) {
			m, ok := p.Machine.(platform.Hosted)
			if !ok {
				return nil, fmt.Errorf("%s is no guest", p.Machine.Name())
			}
			read := func(ctx context.Context) (map[string]float64, error) {
				g, err := m.Given(ctx)
				if err != nil {
					return nil, err
				}
				values := map[string]float64{"guest.run": g.Run.Seconds(), "guest.ready": g.Ready.Seconds(), "guest.others": g.Others.Seconds()}
				if g.Exits >= 0 {
					values["guest.exits"] = float64(g.Exits)
				}
				return values, nil
			}
			_, err := read(ctx)
			return read, err
		},
	}
}
