package capacity

import (
	"fmt"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan/peak"
)

// TileEnds finds for each arm of a growth of tiles the limit that one more tile missed, or that there was none.
func TileEnds(t *table.Table) (all []finding.TileEnd) {
	if !t.Study.Load.Growth.Tiles() {
		return nil
	}
	for arm := range t.Arms {
		failed := failedProbes(t, arm)
		if len(failed) == 0 {
			if most := exhausted(t, arm); most > 0 {
				all = append(all, finding.TileEnd{Arm: arm, Tiles: most})
			}
			continue
		}
		end := finding.TileEnd{Arm: arm, Tiles: failed[0].Units}
		times := map[string]int{}
		for _, p := range failed {
			if times[p.Limiting]++; times[p.Limiting] > times[end.Limiting] {
				end.Limiting = p.Limiting
			}
		}
		for _, p := range failed {
			if p.Limiting == end.Limiting {
				end.Reason = fmt.Sprintf("with %d, %s", p.Units, p.Reason)
			}
		}
		all = append(all, end)
	}
	return all
}

// failedProbes are the probes of an arm that did not carry the fewest tiles beyond those that its trials found.
func failedProbes(t *table.Table, arm int) (failed []measure.Probe) {
	for i := range t.Records {
		r := &t.Records[i]
		if r.Arm != arm || !r.Valid() || r.Peak == nil {
			continue
		}
		for _, p := range r.Probes {
			if p.Passed || p.Invalid || float64(p.Units) <= r.Peak.Estimate {
				continue
			}
			if len(failed) > 0 && p.Units < failed[0].Units {
				failed = nil
			}
			if len(failed) == 0 || p.Units == failed[0].Units {
				failed = append(failed, p)
			}
		}
	}
	return failed
}

// exhausted is the largest number of tiles of the study, if a trial of an arm carried them all; 0 otherwise.
func exhausted(t *table.Table, arm int) int {
	for i := range t.Records {
		if r := &t.Records[i]; r.Arm == arm && r.Valid() && r.Peak != nil && r.Peak.Word == string(peak.AboveRange) {
			return t.Study.Load.Growth.To
		}
	}
	return 0
}
