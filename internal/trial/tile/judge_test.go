package tile

import (
	"errors"
	"math"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

func limit(metric, unit string, most float64) study.Limit {
	return study.Limit{Metric: metric, Unit: unit, Max: &most}
}

var (
	site = study.Group{Name: "site", Reference: 40, Limits: []study.Limit{limit("p95", "s", .02), limit("p99", "s", .1)}}
	shop = study.Group{Name: "shop", Reference: 10, Limits: []study.Limit{limit("p90", "s", .5), limit("errors", "1/s", 1)}}
	wait = study.Group{Name: "wait", Limits: []study.Limit{limit("late.p99", "s", .05)}}
)

func work(tile int, g study.Group, values map[string]float64) Work {
	return Work{tile, g, "ops", values}
}

func tileOf(n int, sites, shops float64) []Work {
	return []Work{
		work(n, site, map[string]float64{"ops": sites, "p95": .01, "p99": .05}),
		work(n, shop, map[string]float64{"ops": shops, "p90": .1, "errors": .5}),
		work(n, wait, map[string]float64{"ops": 100, "late.p99": .001}),
	}
}

func TestJudge(t *testing.T) {
	out, err := Judge(append(tileOf(1, 40, 10), tileOf(2, 10, 10)...), nil, 0)
	if err != nil || len(out.Missed) != 0 {
		t.Fatalf("missed %v, %v", out.Missed, err)
	}
	for name, want := range map[string]float64{"score.applications": 1.5, "worst": .5, "fairness": 1.5 * 1.5 / 2 / 1.25, "kept": 1, "tiles": 2} {
		if got := out.Values[name]; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
}

func TestMissed(t *testing.T) {
	for _, c := range []struct {
		name         string
		change       map[string]float64 // of the site of the second tile
		which, tells string
		kept, tiles  float64
	}{
		{"one limit", map[string]float64{"p95": .03}, "site.p95", "site of tile 2: p95 was 30 ms, limit 20 ms", 5. / 6, 1},
		{"the limit that is furthest away first", map[string]float64{"p95": .03, "p99": .5}, "site.p99", "site of tile 2: p99 was 500 ms, limit 100 ms", 5. / 6, 1},
		{"failed operations", map[string]float64{"errors": .1}, "site.errors", "site of tile 2: errors was 0.1/s, limit 0/s", 5. / 6, 1},
		{"just at the limit", map[string]float64{"p95": .02}, "", "", 1, 2},
	} {
		all := append(tileOf(1, 40, 10), tileOf(2, 40, 10)...)
		for metric, v := range c.change {
			all[3].Values[metric] = v
		}
		out, err := Judge(all, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if c.which == "" {
			if len(out.Missed) > 0 {
				t.Errorf("%s: missed %v", c.name, out.Missed)
			}
		} else if len(out.Missed) == 0 || out.Missed[0].Name() != c.which || out.Missed[0].String() != c.tells {
			t.Errorf("%s: missed %v, want %s", c.name, out.Missed, c.tells)
		}
		if out.Values[measure.Kept] != c.kept || out.Values["tiles"] != c.tiles {
			t.Errorf("%s: kept %g, tiles %g", c.name, out.Values[measure.Kept], out.Values["tiles"])
		}
	}
}

// A member that did nothing has failed, and its tile scores nothing. One with too few operations for its limit cannot be judged.
func TestNothingAndTooLittle(t *testing.T) {
	all := append(tileOf(1, 40, 10), tileOf(2, 40, 10)...)
	all[4].Values = map[string]float64{"ops": 0, "errors": 0}
	out, err := Judge(all, nil, 0)
	if err != nil || len(out.Missed) != 1 || out.Missed[0].String() != "shop of tile 2 completed no operation" || out.Values[measure.Worst] != 0 || out.Values[measure.Score] != 1 {
		t.Errorf("nothing: %v, %v, %v", out.Missed, out.Values, err)
	}
	all[4].Values = map[string]float64{"ops": 3}
	var unknown *Unknown
	if _, err := Judge(all, nil, 0); !errors.As(err, &unknown) || unknown.Group != "shop" || unknown.Metric != "p90" {
		t.Errorf("too little: %v", err)
	}
	all[4].Values["max"] = .6
	if _, err := Judge(all, nil, 0); !errors.As(err, &unknown) || unknown.Reason() != "shop of tile 2 completed too few operations for p90, the slowest took 600 ms, limit 500 ms" {
		t.Errorf("too little and slow: %v", err)
	}
	all[4].Values["max"] = .05
	if out, err := Judge(all, nil, 0); err != nil || len(out.Missed) > 0 {
		t.Errorf("too little, but none too slow: %v, %v", out.Missed, err)
	}
}

// Without references there is no score, and limits still tell what is carried.
func TestNoReference(t *testing.T) {
	out, err := Judge([]Work{work(1, wait, map[string]float64{"ops": 100, "late.p99": .06})}, nil, 0)
	if _, scored := out.Values[measure.Score]; err != nil || scored || out.Values["tiles"] != 0 || out.Missed[0].Name() != "wait.late.p99" {
		t.Errorf("%v, %v, %v", out.Values, out.Missed, err)
	}
}

// Operations weigh nominally 20 %, and say what they weigh. Without references they are only counted.
func TestOperationsBesideTiles(t *testing.T) {
	restart := Managed{study.Operation{Kind: "restart", Reference: 300}, 150}
	out, err := Judge(append(tileOf(1, 40, 10), tileOf(2, 40, 10)...), []Managed{restart}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"score": 1.7, "score.applications": 2, "score.operations": .5, "score.operations.weight": .1 / 1.7, "operations.restart": 150} {
		if got := out.Values[name]; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	restart.Reference = 0
	out, err = Judge(tileOf(1, 40, 10), []Managed{restart}, 0)
	if _, overall := out.Values["score"]; err != nil || overall || out.Values["operations.restart"] != 150 {
		t.Errorf("%v, %v", out.Values, err)
	}
}

// The score by the power is the overall one, or that of the applications without operations, and none where the power is unknown.
func TestScoreByPower(t *testing.T) {
	all := append(tileOf(1, 40, 10), tileOf(2, 40, 10)...)
	restart := Managed{study.Operation{Kind: "restart", Reference: 300}, 150}
	for _, c := range []struct {
		managed     []Managed
		watts, want float64
	}{{nil, 250, 8}, {[]Managed{restart}, 500, 3.4}, {nil, 0, 0}} {
		out, err := Judge(all, c.managed, c.watts)
		got, known := out.Values[measure.KilowattScore]
		if err != nil || known != (c.watts > 0) || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%g W: %g, %v, %v, want %g", c.watts, got, known, err, c.want)
		}
	}
}
