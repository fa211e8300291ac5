package causes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"plimsoll/bench/causes/program"
	"plimsoll/bench/causes/scene"
	"plimsoll/bench/measured"
)

// command is the argument that starts the benchmark.
const command = "causes"

// settings are what the command line asks for.
type settings struct {
	names                                    []string
	runs                                     int
	seed                                     uint64
	length                                   time.Duration
	results, plimsoll, keep                  string
	heldOut, everything, prove, asJSON, list bool
	again                                    bool
}

// Run makes causes where the arguments ask for them, and says whether they did.
func Run(args []string) (ran bool, err error) {
	if ran, err := program.Run(args); ran {
		return true, err
	}
	if len(args) == 0 || args[0] != command {
		return false, nil
	}
	o, err := read(args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return true, nil
	}
	if err != nil {
		return true, err
	}
	chosen, err := o.choose()
	if err != nil {
		return true, err
	}
	if o.list {
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		for _, c := range chosen {
			fmt.Fprintf(table, "%s\t%s\t%s\n", c.name, strings.Join(c.rules, " or "), c.about)
		}
		return true, table.Flush()
	}
	return true, o.run(chosen)
}

// read reads the command line: names and flags, in any order.
func read(args []string) (o settings, err error) {
	f := flag.NewFlagSet(command, flag.ContinueOnError)
	f.IntVar(&o.runs, "runs", 1, "runs of each cause")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the first run; sizes and rates depend on it")
	f.DurationVar(&o.length, "for", 20*time.Second, "how long plimsoll check looks")
	only := f.String("only", "", "causes, separated by commas; as the names themselves")
	f.StringVar(&o.results, "results", "", "file that takes an outcome per line; runs that it has are not repeated")
	f.StringVar(&o.keep, "keep", "", "folder that takes the recording of each check")
	f.BoolVar(&o.again, "again", false, "judge the recordings of the folder of --keep, and make no causes")
	f.StringVar(&o.plimsoll, "plimsoll", "", "program to ask; built from this module where empty")
	f.BoolVar(&o.heldOut, "held-out", false, "the causes that no rule was tuned on")
	f.BoolVar(&o.everything, "all", false, "all causes, with those")
	f.BoolVar(&o.prove, "prove", false, "only measure the workload without and with each cause")
	f.BoolVar(&o.asJSON, "json", false, "print the summary as JSON")
	f.BoolVar(&o.list, "list", false, "print the causes with the rules that they are for")
	for len(args) > 0 {
		if err := f.Parse(args); err != nil {
			return o, err
		}
		args = f.Args()
		for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			o.names = append(o.names, strings.Split(args[0], ",")...)
			args = args[1:]
		}
	}
	if *only != "" {
		o.names = append(o.names, strings.Split(*only, ",")...)
	}
	return o, nil
}

// choose has the causes that were asked for.
func (o settings) choose() ([]cause, error) {
	from := known()
	if o.everything || len(o.names) > 0 {
		from = all()
	} else if o.heldOut {
		from = heldOut()
	}
	if len(o.names) == 0 {
		return from, nil
	}
	var chosen []cause
	for _, name := range o.names {
		i := slices.IndexFunc(from, func(c cause) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no cause %q; --all --list prints all", name)
		}
		chosen = append(chosen, from[i])
	}
	return chosen, nil
}

// run makes the causes so often, prints each outcome as it comes, and a summary.
func (o settings) run(chosen []cause) (err error) {
	runtime.LockOSThread() // children are killed when the thread that started them ends
	defer runtime.UnlockOSThread()
	if os.Getuid() != 0 && !o.again {
		return errors.New("making causes needs root")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	dir, err := os.MkdirTemp("/tmp", "plimsoll-causes-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := bench{plimsoll: o.plimsoll, recordings: o.keep, again: o.again, length: o.length, seed: o.seed}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	folder := filepath.Join(dir, "kept")
	if err := errors.Join(os.Mkdir(folder, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return err
	}
	if b.kept, err = scene.Keep(folder); err != nil {
		return err
	}
	if b.plimsoll == "" && !o.prove {
		b.plimsoll = filepath.Join(dir, "plimsoll")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.plimsoll, "./cmd/plimsoll").CombinedOutput(); err != nil {
			return fmt.Errorf("build plimsoll: %w: %s", err, out)
		}
	}
	done, keep, err := o.earlier()
	if err != nil {
		return err
	}
	defer keep.Close()
	if err := o.each(ctx, b, chosen, done, keep); err != nil {
		return err
	}
	return o.summarise(os.Stdout, chosen, done)
}

// key is a run of a cause.
type key struct {
	cause string
	seed  uint64
}

// each makes the runs that are not done yet: all causes once, then all of them again.
func (o settings) each(ctx context.Context, b bench, chosen []cause, done map[key]outcome, keep *os.File) error {
	left := 0
	for run := range o.runs {
		for _, c := range chosen {
			if _, there := done[key{c.name, o.seed + uint64(run)}]; !there {
				left++
			}
		}
	}
	const overhead = 10 * time.Second // of a run, without the length of the check
	fmt.Fprintf(os.Stderr, "%d runs, about %v\n", left, (time.Duration(left) * (o.length + overhead)).Round(time.Minute))
	for run := range o.runs {
		for _, c := range chosen {
			k := key{c.name, o.seed + uint64(run)}
			if _, there := done[k]; there {
				continue
			}
			began := time.Now()
			result, err := b.once(ctx, c, run)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			done[k] = result
			fmt.Fprintln(os.Stderr, result.line(c, time.Since(began)))
			if result.Void != "" || o.results == "" {
				continue // a void run is made again when the benchmark goes on
			}
			if err := json.NewEncoder(keep).Encode(result); err != nil {
				return fmt.Errorf("write %s: %w", o.results, err)
			}
		}
	}
	return nil
}

// line is an outcome for the eye.
func (o outcome) line(c cause, took time.Duration) string {
	line := fmt.Sprintf("%s, seed %d, %.0f s: ", o.Cause, o.Seed, took.Seconds())
	if o.Worse > 0 {
		line += fmt.Sprintf("%s %.4g without, %.4g with, %.2f times worse; ", c.metric.name, o.Without, o.With, o.Worse)
	}
	switch {
	case o.Void != "":
		return line + "VOID: " + o.Void
	case o.Found == nil:
		return line + "not asked"
	case o.First && o.Change:
		return line + "right: " + strings.Join(o.Found, " ") + ". " + o.Says
	case o.First:
		return line + "WRONG CHANGE: " + o.Says
	}
	return line + "WRONG: " + strings.Join(o.Found, " ") + ". " + o.Says
}

// earlier reads the outcomes of runs that ended before, and opens the file for more.
func (o settings) earlier() (map[key]outcome, *os.File, error) {
	done := map[key]outcome{}
	name := o.results
	if name == "" {
		name = os.DevNull
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("open the file of outcomes: %w", err)
	}
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		var r outcome
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("read %s: %w", name, err), f.Close())
		}
		done[key{r.Cause, r.Seed}] = r
	}
	return done, f, scan.Err()
}

// total sums the runs of a cause up.
type total struct {
	Cause  string         `json:"cause"`
	Runs   int            `json:"runs"`
	Void   int            `json:"void"`
	First  int            `json:"first"`
	Change int            `json:"change"` // first, and with the right change
	Worse  float64        `json:"worse"`  // median
	Wrong  map[string]int `json:"wrong"`  // first findings of the other runs
}

// summarise prints a line per cause; the error says that one was not recognised in 9 of 10 runs.
func (o settings) summarise(w io.Writer, chosen []cause, done map[key]outcome) error {
	var totals []total
	var missed []string
	for _, c := range chosen {
		t := sum(c, done)
		totals = append(totals, t)
		if !o.prove && t.Change*10 < t.Runs*9 || t.Void > 0 || t.Runs == 0 {
			missed = append(missed, c.name)
		}
	}
	if err := print(w, totals, o.asJSON); err != nil {
		return err
	}
	if len(missed) > 0 {
		return fmt.Errorf("not recognised in 9 of 10 runs, or void: %s", strings.Join(missed, ", "))
	}
	return nil
}

func sum(c cause, done map[key]outcome) total {
	t := total{Cause: c.name, Wrong: map[string]int{}}
	var factors []float64
	for k, r := range done {
		switch {
		case k.cause != c.name:
			continue
		case r.Void != "":
			t.Void++
			continue
		}
		t.Runs++
		factors = append(factors, r.Worse)
		switch {
		case r.First && r.Change:
			t.First, t.Change = t.First+1, t.Change+1
		case r.Found == nil: // only made
		case r.First:
			t.First++
		case len(r.Found) == 0:
			t.Wrong["nothing"]++
		case len(c.rules) == 0 || c.only:
			t.Wrong[strings.Join(r.Found, "+")]++
		default:
			t.Wrong[r.Found[0]]++
		}
	}
	if len(factors) > 0 {
		t.Worse = measured.Middle(factors)
	}
	return t
}

func print(w io.Writer, totals []total, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(totals)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CAUSE\tRUNS\tVOID\tTIMES WORSE\tNAMED FIRST\tRIGHT CHANGE\tWRONG FIRSTS")
	for _, t := range totals {
		var wrong []string
		for _, name := range slices.Sorted(maps.Keys(t.Wrong)) {
			wrong = append(wrong, fmt.Sprintf("%s (%d)", name, t.Wrong[name]))
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%.3g\t%d\t%d\t%s\n", t.Cause, t.Runs, t.Void, t.Worse, t.First, t.Change, strings.Join(wrong, ", "))
	}
	return table.Flush()
}
