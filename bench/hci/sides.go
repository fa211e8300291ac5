package hci

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// outcome is what became of one run of a limit.
type outcome struct {
	Limit   string   `json:"limit"`
	Seed    uint64   `json:"seed"`
	Named   bool     `json:"named"`          // it was named first; without a limit, nothing was
	Said    []string `json:"said,omitempty"` // all explanations, as rule: sentence
	Void    string   `json:"void,omitempty"` // why there is no result
	Tries   int      `json:"tries"`          // of which all but the last failed
	Seconds float64  `json:"seconds"`        // of the last

	Recorded *recorded `json:"recorded,omitempty"`
}

// settings are what the command line asks for.
type settings struct {
	runs   int
	seed   uint64
	unseen bool
	again  bool
	keep   string
	asJSON bool
}

// Sides makes limits of a cluster on purpose, where the arguments ask for it, and counts how often the report names them.
func Sides(args []string) (ran bool, err error) {
	if len(args) == 0 || args[0] != "sides" {
		return false, nil
	}
	var o settings
	f := flag.NewFlagSet("sides", flag.ContinueOnError)
	f.IntVar(&o.runs, "runs", 1, "runs of each limit")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the first run")
	f.BoolVar(&o.unseen, "held-out", false, "only the limits that the rule was not made with")
	f.StringVar(&o.keep, "keep", "", "folder that takes the results of each run")
	f.BoolVar(&o.again, "again", false, "judge the results in the folder of --keep, and make no limits")
	f.BoolVar(&o.asJSON, "json", false, "print the outcome of each run as JSON")
	switch err := f.Parse(args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		return true, nil
	case err != nil:
		return true, err
	}
	chosen, err := choose(f.Args(), o.unseen)
	if err != nil {
		return true, err
	}
	if os.Getuid() != 0 && !o.again {
		return true, errors.New("making limits needs root")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	all, err := o.run(ctx, chosen)
	return true, errors.Join(err, o.print(chosen, all))
}

// run makes the limits so often, and tells each outcome as it comes.
func (o settings) run(ctx context.Context, chosen []limit) (all []outcome, err error) {
	for run := range o.runs {
		for _, l := range chosen {
			one, err := o.one(ctx, l, o.seed+uint64(run))
			if err != nil {
				return all, err
			}
			fmt.Fprintf(os.Stderr, "%s, seed %d, %.0f s: %s\n", one.Limit, one.Seed, one.Seconds, one.text())
			all = append(all, one)
		}
	}
	return all, nil
}

const (
	mostTries = 5
	longest   = 5 * time.Minute // of a try
)

// one makes a limit, again where that failed. The error is that of an end asked for.
func (o settings) one(ctx context.Context, l limit, seed uint64) (is outcome, err error) {
	is = outcome{Limit: l.name, Seed: seed}
	for is.Tries < mostTries {
		is.Tries++
		began := time.Now()
		within, cancel := context.WithTimeout(ctx, longest)
		found, records, err := o.find(within, l, seed)
		cancel()
		if ctx.Err() != nil {
			return is, ctx.Err()
		}
		is.Seconds = time.Since(began).Seconds()
		if err != nil {
			is.Void = err.Error()
			fmt.Fprintf(os.Stderr, "%s, seed %d, try %d: %v\n", l.name, seed, is.Tries, err)
			continue
		}
		is.Void = ""
		for _, e := range found {
			is.Said = append(is.Said, e.Rule+": "+e.Sentence.Text)
		}
		is.Named, is.Recorded = l.right(found), record(records)
		break
	}
	return is, nil
}

// text is the outcome in a line.
func (o outcome) text() string {
	switch {
	case o.Void != "":
		return "no result: " + o.Void
	case len(o.Said) == 0 && o.Named:
		return "right: nothing named"
	case len(o.Said) == 0:
		return "WRONG: nothing named"
	case o.Named:
		return "right: " + strings.Join(o.Said, " | ")
	}
	return "WRONG: " + strings.Join(o.Said, " | ")
}

// print prints all outcomes where JSON is asked for, and the summary.
func (o settings) print(chosen []limit, all []outcome) error {
	if !o.asJSON {
		return summarise(os.Stdout, chosen, all)
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return errors.Join(e.Encode(all), summarise(os.Stderr, chosen, all))
}

// summarise prints how often each limit was named, and what was named instead.
func summarise(w io.Writer, chosen []limit, all []outcome) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LIMIT\tRUNS\tNAMED\tNO RESULT")
	var wrong []outcome
	for _, l := range chosen {
		runs, named, void := 0, 0, 0
		for _, one := range all {
			switch {
			case one.Limit != l.name:
				continue
			case one.Named:
				named++
			default:
				wrong = append(wrong, one)
			}
			runs++
			if one.Void != "" {
				void++
			}
		}
		what := l.name
		if l.named == nil {
			what += " (nothing)"
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", what, runs, named, void)
	}
	err := table.Flush()
	for _, one := range wrong {
		fmt.Fprintf(w, "%s, seed %d: %s\n", one.Limit, one.Seed, one.text())
	}
	return err
}
