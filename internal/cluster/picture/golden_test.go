package picture

import (
	"flag"
	"os"
	"testing"

	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/cluster/doctor/pools"
	"plimsoll/internal/cluster/doctor/warning"
)

var update = flag.Bool("update", false, "write the golden files anew")

// small is a report with one of each element of a page.
func small() Input {
	gib := int64(1 << 30)
	host := func(name, state string, vms [2]int, cpu, memory [2]float64) doctor.Host {
		return doctor.Host{Name: name, State: state, VMs: vms, CPU: cpu, Memory: memory, Reserved: [2]float64{.1, .2}, ReservedAfter: [2]float64{.1, .25}}
	}
	return Input{
		Report: &doctor.Report{
			Cluster: "lab", Waiting: 1, Lost: [2]float64{.0346, 0},
			Hosts: []doctor.Host{
				host("esx-1", "connected", [2]int{6, 4}, [2]float64{1.12, .43}, [2]float64{.11, .07}),
				host("esx-2", "connected", [2]int{2, 2}, [2]float64{.14, .18}, [2]float64{.14, .09}),
				host("esx-3", "connected", [2]int{0, 2}, [2]float64{0, .07}, [2]float64{0, .07}),
				host("esx-4", "maintenance", [2]int{1, 0}, [2]float64{.02, 0}, [2]float64{.01, 0}),
			},
			Broken: []string{"rule db-apart: db-1 and db-2 share the host esx-2"},
			Moves: []doctor.Move{
				{Step: 1, VM: "db-2", From: "esx-2", To: "esx-3", Reason: "vmHostHardAffinity", Why: "the rule db-apart must hold", Evidence: "db-2 asks for 6000 MHz and 18 GiB", Effect: "esx-2 14 % -> 7 %, esx-3 0 % -> 7 %",
					Alternatives: []doctor.Alternative{{Host: "esx-1", Why: "it would then be 119 % (CPU) full"}}},
				{Step: 2, VM: "web-7", From: "esx-4", To: "esx-3", Reason: "hostMaint", Why: "esx-4 is in maintenance and must be empty", Effect: "esx-3 7 % -> 9 %"},
				{Step: 3, VM: "web-1", From: "esx-1", To: "esx-2", Reason: "fairnessCpuAvg", Why: "esx-1 is 112 % full", Effect: "esx-1 112 % -> 54 %, esx-2 7 % -> 18 %", Value: "gain 479 GHz·s in 300 s, risk 0, cost 36 (copy of 8 s)"},
				{Step: 4, VM: "log-1", From: "esx-1", To: "esx-3", Reason: "vmHostSoftAffinity", Why: "the rule near-logs should hold", Effect: "esx-1 54 % -> 43 %, esx-3 9 % -> 20 %"},
			},
			Stranded: []doctor.Stranded{{Text: "big cannot leave esx-1, which is in maintenance; no other host can run it: esx-2: the host is failed"}},
			Refused:  []doctor.Refused{{VM: "web-3", From: "esx-1", To: "esx-3", Why: "no VM would run better"}},
			Quiet:    "the hosts' loads differ by 36.1 points, and no move is worth it",
			Pools: []pools.View{
				{Name: "root", VMs: 5, Shares: 4000, Demand: pools.Amounts{CPU: 70_000, Memory: 80 * gib}, Entitled: pools.Amounts{CPU: 332_800, Memory: 1024 * gib}},
				{Name: "gold", Depth: 1, VMs: 4, Shares: 8000, Demand: pools.Amounts{CPU: 9000, Memory: 8 * gib}, Entitled: pools.Amounts{CPU: 8000, Memory: 16 * gib}},
			},
			Short: []doctor.Shortfall{{VM: "db-1", Host: "esx-2", Pool: "gold", Demand: pools.Amounts{CPU: 9000, Memory: 8 * gib}, Entitled: pools.Amounts{CPU: 8000, Memory: 7 * gib}}}, Shorter: 3,
			Round: 2, At: "2026-11-21T14:00:00Z", Last: &doctor.Outcome{Moves: []doctor.MoveOutcome{{RoundMove: doctor.RoundMove{VM: "db-1", From: "esx-1", To: "esx-2"}, What: doctor.Made}, {RoundMove: doctor.RoundMove{VM: "web-2", From: "esx-1", To: "esx-3"}, What: doctor.NotMade}},
				Others: []doctor.OtherMove{{VM: "web-5", From: "esx-3", To: "esx-1"}}, Summary: doctor.Summary{Made: 1, NotMade: 1, Judged: 4, Median: 1.2, Largest: 3.4}, Lost: doctor.Predicted{Predicted: .01, Seen: .0346}},
			Warnings: []warning.Warning{{Kind: "cost-benefit", Text: "moves are made whatever they cost", Do: "set cost-benefit to true"}},
		},
	}
}

func TestGolden(t *testing.T) {
	const file = "testdata/small.html"
	got := render(t, small())
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at it in a browser, and if it is right: go test ./internal/cluster/picture -update", file)
	}
}
