package collect

import (
	"context"
	"fmt"

	"plimsoll/internal/platform"
)

// Traffic reports a guest's traffic on plimsoll's virtual switch.
func Traffic() Source {
	return Source{
		Name: "network of guests",
		Doc:  "traffic of a guest on plimsoll's virtual switch",
		Counters: []Counter{
			cumulative("guest.network.in", "B/s", "bytes received by the guest"),
			cumulative("guest.network.out", "B/s", "bytes sent by the guest"),
			cumulative("guest.frames.in", "1/s", "frames received by the guest"),
			cumulative("guest.frames.out", "1/s", "frames sent by the guest"),
			cumulative("guest.frames.lost", "1/s", "frames dropped by a full receive queue of the guest"),
			gauge("guest.network.rtt", "s", "minimum round-trip time to the first other guest, before the load"),
		},
		For: func(m platform.Machine) bool {
			w, ok := m.(platform.Wired)
			if ok {
				_, ok = w.Traffic()
			}
			return ok
		},
		Open: func(ctx context.Context, p Env) (Read, error) {
			m, ok := p.Machine.(platform.Wired)
			if !ok {
				return nil, fmt.Errorf("%s is not in a network of plimsoll", p.Machine.Name())
			}
			distance, err := m.RoundTrip(ctx)
			if err != nil {
				return nil, err
			}
			return func(context.Context) (map[string]float64, error) {
				t, _ := m.Traffic()
				values := map[string]float64{
					"guest.network.in": float64(t.BytesIn), "guest.network.out": float64(t.BytesOut),
					"guest.frames.in": float64(t.FramesIn), "guest.frames.out": float64(t.FramesOut), "guest.frames.lost": float64(t.Lost),
				}
				if distance > 0 {
					values["guest.network.rtt"] = distance.Seconds()
				}
				return values, nil
			}, nil
		},
	}
}
