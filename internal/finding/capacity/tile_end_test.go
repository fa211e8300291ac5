package capacity

import (
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// The limit that most probes of the fewest tiles beyond the answer missed is the end of an arm.
func TestTileEnds(t *testing.T) {
	failed := func(units int, limiting string) measure.Probe {
		return measure.Probe{Units: units, Limiting: limiting, Reason: limiting + " was missed"}
	}
	record := func(carried float64, probes ...measure.Probe) measure.Record {
		return measure.Record{Peak: &measure.Peak{Estimate: carried}, Probes: probes}
	}
	of := &table.Table{Case: table.Case{
		Study: &study.Study{Load: study.Load{Growth: &study.Growth{Unit: study.TileUnit}}}, Plan: &plan.Plan{},
		Records: []measure.Record{
			record(4, failed(3, "chance.p90"), failed(6, "far.p95"), failed(5, "shop.p90"), failed(5, "shop.p90"), measure.Probe{Units: 5, Passed: true}),
			record(4, failed(5, "site.p95"), failed(5, "void.p95")),
		},
	}, Arms: 1}
	of.Records[1].Probes[1].Invalid = true
	got := TileEnds(of)
	want := finding.TileEnd{Tiles: 5, Limiting: "shop.p90", Reason: "with 5, shop.p90 was missed"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	of.Study.Load.Growth.Unit = ""
	if got := TileEnds(of); got != nil {
		t.Errorf("a growth of servers: %+v", got)
	}
}
