// Command bench measures what plimsoll itself costs, each thing against a limit
// or a peer, as medians and ratios: the machine may be shared.
//
//	go run ./bench            everything
//	go run ./bench plan judge some
//	go run ./bench load       with all whose names begin with load-; likewise cluster
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
	"time"

	"plimsoll/bench/kills"
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
	if ran, err := kills.Run(os.Args[1:]); ran {
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench kills:", err)
			os.Exit(1)
		}
		return
	}
	if ran, err := part(); ran {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	annealing, err := compared()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench annealing:", err)
		os.Exit(1)
	}
	all := []benchmark{{"startup", startup}, {"plan", planning}, {"judge", judging}, {"read", reading}, {"sample", sampling}, {"lab", laboratory}, {"peaks-simulated", simulatedPeaks}, {"peaks-real", realPeaks}, {"load", loads}, {"load-rate", paced}, {"load-memory", memory}, {"load-network", pingpong}, {"database", databases}, {"cql-null", nullInserts}, {"cql-real", realInserts}, {"database-mariadb", mariadb}, {"database-stock", stocking}, {"nbd", networkDisks}, {"guest", guests}, {"fabric", fabrics}, {"fleet", fleets},
		{"cluster-place", placing}, {"cluster-balance", balancing}, {"annealing", annealing.run}, {"cluster-divvy", dividing}, {"cluster-memory", clusterMemory}, {"cluster-policy", complying}, {"cluster-doctor", diagnosing}}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BENCHMARK\tWHAT\tMEDIAN\tAGAINST\t\tRATIO")
	failed := false
	for _, b := range all {
		if len(os.Args) > 1 && !slices.ContainsFunc(os.Args[1:], func(asked string) bool { return asked == b.name || strings.HasPrefix(b.name, asked+"-") }) {
			continue
		}
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

// compared is the comparison with annealing: flags are for it where its name stands before them.
func compared() (cooling, error) {
	if len(os.Args) < 3 || os.Args[1] != "annealing" || !strings.HasPrefix(os.Args[2], "-") {
		return newCooling(nil)
	}
	args := os.Args[2:]
	os.Args = os.Args[:2]
	return newCooling(args)
}

// median is the middle of n times that f takes, in seconds.
func median(n int, f func() error) (float64, error) {
	times := make([]float64, n)
	for i := range times {
		begin := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		times[i] = time.Since(begin).Seconds()
	}
	slices.Sort(times)
	return times[n/2], nil
}
