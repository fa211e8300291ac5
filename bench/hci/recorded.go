package hci

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
)

// recorded is what was measured of the first arm in its last valid trial: the input of the rule, as a case for its tests.
type recorded struct {
	Settings map[string]string  `json:"settings"` // of the load
	Values   map[string]float64 `json:"values"`
	Counters map[string]float64 `json:"counters"`
}

// record takes the case from the records of a study; nil without a valid trial.
func record(all []measure.Record) *recorded {
	at := -1
	for i := range all {
		if all[i].Valid() && all[i].Arm == 0 && (at < 0 || all[i].Trial > all[at].Trial) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	is := &recorded{Settings: map[string]string{}, Values: map[string]float64{}, Counters: map[string]float64{}}
	for name, value := range all[at].Observed {
		if setting, ok := strings.CutPrefix(name, "storage."); ok {
			is.Settings[setting] = value
		}
	}
	for name, v := range all[at].Values {
		if slices.Contains([]string{"iops", "throughput", "mean"}, name[strings.LastIndexByte(name, '.')+1:]) || name == measure.GeneratorCPU {
			is.Values[name] = short(v)
		}
	}
	for name, v := range all[at].Counters {
		if of, _, _ := strings.Cut(name, "."); slices.Contains([]string{"ceph", "processes", "cgroup", "cpu", "disk"}, of) {
			is.Counters[name] = short(v)
		}
	}
	return is
}

// short has the digits that matter.
func short(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64) // of its own text
	return v
}
