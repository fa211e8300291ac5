package studycmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/cmd/plimsoll/studycmd/gate"
	"plimsoll/cmd/plimsoll/studycmd/progress"

	"github.com/spf13/cobra"

	"plimsoll/internal/hci"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/easyrun"
)

// output holds the flags that say where results go and how much is printed.
type output struct {
	dir string
	reporting
}

// reporting holds the flags that say how much of a run is shown.
type reporting struct {
	json    bool
	quiet   bool
	verbose bool
	log     string // file
	events  string // file, or progress.ToScreen
}

func (r *reporting) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&r.json, "json", false, "print the findings as JSON")
	f.BoolVar(&r.quiet, "quiet", false, "print no progress")
	f.BoolVar(&r.verbose, "verbose", false, "print every command executed and every setting written")
	f.StringVar(&r.log, "log", "", "append commands and settings, with timestamps, to a `file`")
	f.StringVar(&r.events, "events", "", "write the state of the run once per second as JSON Lines: to standard error in place of progress, or to a `file`")
	f.Lookup("events").NoOptDefVal = progress.ToScreen
}

func (o *output) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.dir, "out", "", "results `folder` (default results/STUDY-DATE-TIME)")
	o.reporting.flags(cmd)
}

// folder is where the results of a study go.
func (o *output) folder(study string) string {
	if o.dir != "" {
		return o.dir
	}
	return filepath.Join("results", study+"-"+time.Now().Format("20060102-150405"))
}

func (c *commands) run() *cobra.Command {
	var a asked
	var o output
	var d delivery
	var intervene bool
	cmd := &cobra.Command{
		Use:   "run STUDY",
		Short: "run a study: its trials, the verdict, the report",
		Long: `Run a study: its trials in random order, then the verdict and the report.

hci-easy runs six jobs on a storage cluster, sized by it and this host. Its options
are overrides: hci.policy=small|hcibench, hci.profile=max|low|medium|high, hci.jobs.

Ctrl-C stops the run and restores all settings; "plimsoll resume" continues it at
the first unfinished trial.`,
		Example: "  plimsoll run tutorial-ab\n  plimsoll run hci-easy --set hci.profile=low\n  plimsoll run my-study.yaml --out results/first --set measure.window=5s\n  plimsoll run my-study.yaml --gate --json\n  plimsoll run my-study.yaml --gate --junit results.xml\n  plimsoll run my-study.yaml --events=events.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if intervene {
				a.sets = append(a.sets, "measure.intervene=true")
			}
			if args[0] == easyrun.Name {
				if err := d.single(); err != nil {
					return err
				}
				return c.runEasy(cmd, &a, &o)
			}
			r, err := c.request(cmd, args[0], &a)
			if err != nil {
				return err
			}
			r.Dir = o.folder(r.Source.Study.Name)
			return c.perform(cmd.Context(), &o.reporting, d, func(ctx context.Context) (*lab.Outcome, error) { return c.lab.Run(ctx, r) })
		},
	}
	a.flags(c, cmd)
	o.flags(cmd)
	d.flags(cmd)
	cmd.Flags().BoolVar(&intervene, "intervene", false, "after a decided effect, test on fresh blocks whether its best explanation is the cause")
	return cmd
}

func (c *commands) resume() *cobra.Command {
	var o reporting
	var d delivery
	cmd := &cobra.Command{
		Use:               "resume DIR",
		Short:             "continue an interrupted run at its first unfinished trial",
		Example:           "  plimsoll resume results/queue-depth-20260102-150405",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.Folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if easyrun.Is(args[0]) {
				if err := d.single(); err != nil {
					return err
				}
				p, err := easyrun.Open(c.lab, args[0])
				if err != nil {
					return err
				}
				return c.performEasy(cmd.Context(), p, args[0], &o)
			}
			return c.perform(cmd.Context(), &o, d, func(ctx context.Context) (*lab.Outcome, error) { return c.lab.Resume(ctx, args[0]) })
		},
	}
	o.flags(cmd)
	d.flags(cmd)
	return cmd
}

// perform measures, shows how that goes, and prints the outcome.
func (c *commands) perform(ctx context.Context, o *reporting, d delivery, measure func(context.Context) (*lab.Outcome, error)) error {
	if err := d.junit.Check(); err != nil {
		return err
	}
	watch, err := c.watch(ctx, o)
	if err != nil {
		return err
	}
	outcome, err := measure(watch.Context)
	return c.finish(outcome, resumable(outcome, watch.Done(err)), o, d)
}

// watch shows how a run goes.
func (c *commands) watch(ctx context.Context, r *reporting) (*progress.Watch, error) {
	w, err := progress.Start(ctx, progress.Options{Screen: c.screen, Quiet: r.quiet, Verbose: r.verbose, Log: r.log, Events: r.events, Version: c.lab.Version})
	if err == nil {
		c.lab.Progress, c.lab.Events = w.Take, w.Events
	}
	return w, err
}

// resumable adds how to go on to the error of a run that was interrupted.
func resumable(outcome *lab.Outcome, err error) error {
	if outcome == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w; to continue: plimsoll resume %s", err, outcome.Dir)
}

// finish prints the outcome of a run, also of one that ended early.
func (c *commands) finish(outcome *lab.Outcome, err error, o *reporting, d delivery) error {
	if outcome == nil || lab.IsMistake(err) { // nothing was measured
		return err
	}
	if o.json {
		if e := cli.PrintJSON(c.screen.Out, outcome.Findings); e != nil {
			return e
		}
	} else {
		if e := c.screen.PrintReport(outcome.Input); e != nil {
			return e
		}
		fmt.Fprintf(c.screen.Out, "\nreport: %s\n", filepath.Join(outcome.Dir, "report.html"))
	}
	if cli.OnGitHub() {
		cli.Summarise(c.screen.Err, outcome.Input)
	}
	if failed := d.junit.Write(outcome.Input, troubleOf(err)); failed != nil {
		return errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	return d.gate.Judge(outcome.Findings)
}

// troubleOf is what ended a run early. Lost data is a finding.
func troubleOf(err error) error {
	if lost := (*lab.DataError)(nil); errors.As(err, &lost) {
		return nil
	}
	return err
}

// delivery holds the flags that say what else is made of the findings of a run.
type delivery struct {
	gate  gate.Gate
	junit cli.JUnit
}

func (d *delivery) flags(cmd *cobra.Command) {
	d.gate.Flag(cmd)
	cmd.Flags().StringVar((*string)(&d.junit), "junit", "", d.junit.Usage())
}

// single refuses the flags for a run of several studies.
func (d delivery) single() error {
	if d == (delivery{}) {
		return nil
	}
	return cli.Mistake(fmt.Errorf("--gate and --junit judge one study, and %s runs several: gate %s", easyrun.Name, hci.Study))
}
