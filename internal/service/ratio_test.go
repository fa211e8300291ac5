package service

import (
	"maps"
	"testing"

	"plimsoll/internal/measure"
)

func TestRatios(t *testing.T) {
	k := Kind{Metrics: []measure.Metric{{Name: "hit"}, {Name: "missed"}}, Ratios: []Ratio{{Metric: measure.Metric{Name: "rate"}, Of: "hit", Per: []string{"hit", "missed"}}}}
	for _, c := range []struct{ counters, want map[string]float64 }{
		{map[string]float64{"hit": 30, "missed": 10}, map[string]float64{"hit": 30, "missed": 10, "rate": .75}},
		{map[string]float64{"hit": 0, "missed": 0}, map[string]float64{"hit": 0, "missed": 0}},
		{map[string]float64{"hit": 30}, map[string]float64{"hit": 30}},
	} {
		Divide(k.Ratios, c.counters)
		if !maps.Equal(c.counters, c.want) {
			t.Errorf("got %v, want %v", c.counters, c.want)
		}
	}
	k.Drained, k.Derived = []Ratio{{Metric: measure.Metric{Name: "drained"}}}, []measure.Metric{{Name: "derived"}}
	if all := k.Recorded(); len(all) != 5 || all[2].Name != "rate" || all[3].Name != "drained" || all[4].Name != "derived" || len(k.Metrics) != 2 {
		t.Errorf("records get %v", all)
	}
}
