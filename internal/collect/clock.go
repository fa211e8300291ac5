package collect

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/platform"
)

// Clock tells how well the machine knows the time.
func Clock() Source {
	return Source{
		Name: "clock",
		Doc:  "clock synchronisation, from adjtimex(2)",
		Counters: []Counter{
			gauge("clock.synchronised", "1", "1 where the kernel's clock is synchronised, else 0"),
			gauge("clock.max_error", "s", "maximum error of the clock, as the kernel estimates it"),
		},
		Open: func(ctx context.Context, p Place) (Read, error) {
			o, ok := p.Machine.(platform.Observer)
			if !ok {
				return nil, fmt.Errorf("%s does not tell the state of its clock: %w", p.Machine.Name(), errors.ErrUnsupported)
			}
			take := func(ctx context.Context) (map[string]float64, error) {
				c, err := o.Clock(ctx)
				if err != nil {
					return nil, err
				}
				values := map[string]float64{"clock.synchronised": 0, "clock.max_error": c.MaxError.Seconds()}
				if c.Synchronised {
					values["clock.synchronised"] = 1
				}
				return values, nil
			}
			_, err := take(ctx)
			return take, err
		},
	}
}
