// Command bench measures what plimsoll itself costs, each thing against a limit
// or a peer, as medians and ratios: the machine may be shared.
//
//	go run ./bench            everything
//	go run ./bench plan judge some
//	go run ./bench load       with all whose names begin with load-; likewise cluster
//	go run ./bench causes     whether plimsoll check names causes of slowness that are made on purpose
//	go run ./bench tune       whether plimsoll tune finds the best settings of real targets, or of one: tune redis
//	go run ./bench core-scheduling --kernel FILE --modules DIR    groups of threads that do not share cores; by name alone
//	go run ./bench sides      whether reports name the side that limits a Ceph cluster, made on purpose
//	go run ./bench truth      error rates and power of simulated studies, as tables
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"plimsoll/bench/causes"
	"plimsoll/bench/clusters"
	"plimsoll/bench/desktops"
	"plimsoll/bench/guests"
	"plimsoll/bench/hci"
	"plimsoll/bench/inference"
	"plimsoll/bench/kills"
	"plimsoll/bench/listing"
	"plimsoll/bench/measured"
	"plimsoll/bench/networks"
	"plimsoll/bench/observe"
	"plimsoll/bench/peaks"
	"plimsoll/bench/tune"
	"plimsoll/bench/vcenter"
	"plimsoll/bench/vsphere"
)

// result is one line: what was measured against what it is held to.
type result struct {
	what    string
	got     float64
	against string
	limit   float64
	unit    string
}

// benchmark is a named set of results.
type benchmark struct {
	name string
	run  func() ([]result, error)
}

func main() {
	for name, one := range map[string]func() (bool, error){"bench kills: ": func() (bool, error) { return kills.Run(os.Args[1:]) }, "bench causes: ": func() (bool, error) { return causes.Run(os.Args[1:]) }, "bench tune: ": func() (bool, error) { return tune.Run(os.Args[1:]) }, "bench sides: ": func() (bool, error) { return hci.Sides(os.Args[1:]) }, "": part} {
		if ran, err := one(); err != nil {
			fmt.Fprint(os.Stderr, name, err, "\n")
			os.Exit(1)
		} else if ran {
			return
		}
	}
	annealing, spark, kills, cores := asked("annealing", compared), asked("spark", submitting), asked("protection", killing), asked("core-scheduling", scheduling)
	all := []benchmark{{"startup", startup}, {"plan", planning}, {"judge", judging}, {"read", reading}, {"observe", of(observe.Reading)}, {"observer-effect", observerEffect}, {"lab", laboratory}, {"serve", of(listing.Runs)}, {"peaks-simulated", of(peaks.Simulated)}, {"peaks-real", of(peaks.Real)}, {"peaks-link", of(peaks.Link)}, {"load", loads}, {"load-rate", paced}, {"load-memory", memory}, {"load-network", pingpong}, {"database", databases}, {"cql-null", nullInserts}, {"cql-real", realInserts}, {"database-mariadb", mariadb}, {"database-stock", stocking}, {"nbd", networkDisks}, {"network", of(networks.Router)}, {"desktop", of(desktops.Harness)}, {"ceph-start", of(hci.Starting)}, {"ceph-ledger", of(hci.Ledger)}, {"ceph-latency", of(hci.Latency)}, {"inference", of(inference.Classifying)}, {"spark", spark.run}, {"guest", of(guests.Booting)}, {"checkpoint", of(guests.Checkpointing)}, {"protection", of(kills.run)}, {"soft-dirty", of(guests.SoftDirty)}, {"core-scheduling", of(cores.Run)}, {"fabric", fabrics}, {"fleet", fleets},
		{"cluster-place", of(clusters.Placing)}, {"cluster-balance", of(clusters.Balancing)}, {"annealing", of(annealing.Run)}, {"cluster-divvy", of(clusters.Dividing)}, {"cluster-memory", of(clusters.Memory)}, {"cluster-policy", of(clusters.Complying)}, {"cluster-doctor", of(clusters.Diagnosing)}, {"vsphere-inventory", of(vsphere.Inventory)}, {"vcenter-build", of(vcenter.Building)}, {"vcenter-operations", of(vcenter.Operating)}, {"vcenter-power", of(vcenter.Powering)}, {"vcenter-client", of(vcenter.Client)}}
	chosen, err := choose(all, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BENCHMARK\tWHAT\tMEDIAN\tAGAINST\t\tRATIO")
	failed := false
	for _, b := range chosen {
		results, err := b.run()
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", b.name, err)
			failed = true
		}
		for _, r := range results {
			fmt.Fprintf(table, "%s\t%s\t%.4g %s\t%s\t%.4g %s\t%.3g\n", b.name, r.what, r.got, r.unit, r.against, r.limit, r.unit, r.got/r.limit)
		}
		table.Flush()
	}
	if failed {
		os.Exit(1)
	}
}

// choose returns the benchmarks of these names, or whose names begin with one of them; without names, all but those that most hosts cannot run.
func choose(all []benchmark, names []string) (chosen []benchmark, err error) {
	var known []string
	for _, b := range all {
		known = append(known, b.name)
		if len(names) == 0 && b.name != "core-scheduling" || slices.ContainsFunc(names, b.called) {
			chosen = append(chosen, b)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(b benchmark) bool { return b.called(name) }) {
			return nil, fmt.Errorf("no benchmark %q; known: causes, kills, sides, truth, tune, %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

func (b benchmark) called(name string) bool {
	return b.name == name || strings.HasPrefix(b.name, name+"-")
}

// asked are the flags of a benchmark. After a mistake in them, or a request for help, the program ends.
func asked[T any](name string, flags func() (T, error)) T {
	own, err := flags()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", name, err)
		os.Exit(1)
	}
	return own
}

// of has a benchmark of another room as one of ours.
func of(run func() ([]measured.Result, error)) func() ([]result, error) {
	return func() (lines []result, err error) {
		all, err := run()
		for _, r := range all {
			lines = append(lines, result{r.What, r.Got, r.Against, r.Limit, r.Unit})
		}
		return lines, err
	}
}

// scheduling is the benchmark of core scheduling: flags are for it where its name stands before them.
func scheduling() (guests.Cores, error) {
	if len(os.Args) < 3 || os.Args[1] != "core-scheduling" || !strings.HasPrefix(os.Args[2], "-") {
		return guests.NewCores(nil)
	}
	args := os.Args[2:]
	os.Args = os.Args[:2]
	return guests.NewCores(args)
}

// compared is the comparison with annealing: flags are for it where its name stands before them.
func compared() (clusters.Cooling, error) {
	if len(os.Args) < 3 || os.Args[1] != "annealing" || !strings.HasPrefix(os.Args[2], "-") {
		return clusters.NewCooling(nil)
	}
	args := os.Args[2:]
	os.Args = os.Args[:2]
	return clusters.NewCooling(args)
}
