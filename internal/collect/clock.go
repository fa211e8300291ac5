package collect

import (
	"context"

	"plimsoll/internal/platform"
)

// Clock reports the synchronisation of the machine's clock.
func Clock() Source {
	return Source{
		Name: "clock",
		Doc:  "clock synchronisation, from adjtimex(2)",
		Counters: []Counter{
			gauge("clock.synchronised", "1", "1 where the kernel's clock is synchronised, else 0"),
			gauge("clock.max_error", "s", "maximum error of the clock, as the kernel estimates it"),
		},
		Open: observe("the state of its clock", func(ctx context.Context, o platform.Observer, _ Env) (map[string]float64, error) {
			c, err := o.Clock(ctx)
			values := map[string]float64{"clock.synchronised": 0, "clock.max_error": c.MaxError.Seconds()}
			if c.Synchronised {
				values["clock.synchronised"] = 1
			}
			return values, err
		}),
	}
}
