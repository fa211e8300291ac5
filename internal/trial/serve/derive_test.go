package serve

import (
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/service"
)

// What follows from the counters of a service and the load is of all groups, where there are several: the service serves all.
func TestDerivedOfAllGroups(t *testing.T) {
	kind := service.Kind{Derive: func(counters, values map[string]float64) {
		counters["busy"] = values["iops"] * values["mean"]
	}}
	for _, c := range []struct {
		values map[string]float64
		want   float64
	}{
		{map[string]float64{"iops": 10, "mean": .5}, 5},
		{map[string]float64{"iops": 10, "mean": .5, "other.iops": 30, "all.iops": 40, "all.mean": .25}, 10},
	} {
		record := &measure.Record{Counters: map[string]float64{}, Values: c.values}
		(&Services{Current: &Running{Kind: kind}}).Derive(record)
		if record.Counters["busy"] != c.want || c.values["iops"] != 10 {
			t.Errorf("%v: %v, want %g", c.values, record.Counters, c.want)
		}
	}
}
