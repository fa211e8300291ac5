package machinecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/diagnosis/checkup"
	"plimsoll/internal/hoststat/watch"
)

// checkOptions are the flags of check.
type checkOptions struct {
	job                  watch.Job
	json, watch, verbose bool
	save                 string // folder for the recordings
	from                 machines
}

func (c *commands) check() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [HOST...]",
		Short: "find what slows a host down",
		Long: `Watch this host for a while, or other hosts by ssh, and name what slows them down. Each
finding about CPUs, memory, storage, network or virtualisation has its evidence and the one
change to make. Nothing is changed, and nothing is left on other hosts.

Ctrl-C ends the time to watch; what was seen until then is judged. The exit status is 1 if
something was found.`,
		Example: "  plimsoll check\n  plimsoll check --for 20s --service postgres\n  plimsoll check admin@db-1 admin@db-2 --json\n  plimsoll check --watch --for 30s\n" +
			"  plimsoll check --save seen && plimsoll check --recording seen/db-1-1.json.gz\n" +
			"  plimsoll check --platform fleet --set platform.labels='[\"role=db\"]' --set platform.agents=3",
		RunE: func(cmd *cobra.Command, hosts []string) error {
			o.from.hosts = hosts
			return c.runCheck(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.job.Length, "for", time.Minute, "`time` to watch")
	f.DurationVar(&o.job.Every, "every", time.Second, "`time` between two readings")
	f.IntSliceVar(&o.job.Processes, "pid", nil, "judge these processes only")
	f.StringVar(&o.job.Service, "service", "", "judge the processes with this `name`, systemd unit or listening port only")
	f.BoolVar(&o.watch, "watch", false, "check repeatedly until Ctrl-C, and print what changes")
	f.BoolVar(&o.json, "json", false, "print the findings as JSON, with --watch a line for each change")
	f.BoolVar(&o.verbose, "verbose", false, "name each rule that was not judged")
	f.StringVar(&o.from.platform, "platform", "", "`platform` with the machines, such as fleet; default: this host, or HOST by ssh")
	f.StringArrayVar(&o.from.sets, "set", nil, "setting of the platform, as `platform.name=value`")
	f.StringVar(&o.save, "save", "", "`folder` that takes the recording of each host")
	f.StringArrayVar(&o.from.files, "recording", nil, "`file` that --save wrote, to judge instead of a host")
	cli.Complete(cmd, "platform", func(string) []string { return c.platformNames() })
	return cmd
}

func (c *commands) runCheck(ctx context.Context, o checkOptions) (err error) {
	if o.job.Every < 100*time.Millisecond || o.job.Length < 2*o.job.Every {
		return cli.Mistake(errors.New("--every must be at least 100ms, and --for at least twice as long"))
	}
	if o.watch && len(o.from.files) > 0 {
		return cli.Mistake(errors.New("a recording cannot be watched: leave out --watch"))
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	targets, done, err := c.targets(ctx, &o.from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if o.save != "" {
		var failed func() error
		if targets, failed, err = saved(targets, o.save); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, failed()) }()
	}
	if o.watch {
		return c.followCheck(ctx, targets, o)
	}
	left := func() {}
	if len(o.from.files) == 0 {
		left = c.countDown(o.job.Length, len(targets))
	}
	report, failed := checkup.Run(ctx, targets, o.job)
	left()
	if errors.Is(failed, watch.ErrUnknown) {
		failed = cli.Mistake(failed)
	}
	if len(targets) == 1 && failed != nil {
		return failed
	}
	if err := c.printCheck(report, o); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	return found(len(report.Findings))
}

// found is the outcome of a check.
func found(findings int) error {
	if findings == 0 {
		return nil
	}
	return cli.Verdict(fmt.Sprintf("found %d", findings))
}

// countDown shows the time left, until the function that it returns is called.
func (c *commands) countDown(length time.Duration, hosts int) (done func()) {
	show, end := c.screen.Counter()
	step := 10 * time.Second
	if _, _, terminal := c.screen.Terminal(); terminal {
		step = time.Second
	}
	what := "watching"
	if hosts > 1 {
		what = fmt.Sprintf("watching %d hosts", hosts)
	}
	begin := time.Now()
	show(fmt.Sprintf("%s, %.0f s left", what, length.Seconds()))
	ctx, cancel := context.WithCancel(context.Background())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(step)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if left := length - time.Since(begin); left > 0 {
					show(fmt.Sprintf("%s, %.0f s left", what, left.Seconds()))
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-finished; end() }
}

func (c *commands) printCheck(r *checkup.Report, o checkOptions) error {
	switch one := r.Single(); {
	case o.json && one != nil:
		return cli.PrintJSON(c.screen.Out, one)
	case o.json:
		return cli.PrintJSON(c.screen.Out, r)
	}
	out, colour := c.screen.Painted()
	return r.Text(out, checkup.Look{Width: c.screen.Columns(), Colour: colour, Verbose: o.verbose})
}

func (c *commands) followCheck(ctx context.Context, targets []checkup.Target, o checkOptions) error {
	fmt.Fprintf(c.screen.Err, "checking every %v; Ctrl-C ends\n", o.job.Length)
	last, err := checkup.Follow(ctx, targets, o.job, func(change checkup.Change) error {
		if o.json {
			e := json.NewEncoder(c.screen.Out)
			e.SetEscapeHTML(false)
			return e.Encode(change)
		}
		_, err := fmt.Fprint(c.screen.Out, cli.Fold(change.String()+"\n", c.screen.Columns()))
		return err
	})
	if err != nil {
		return err
	}
	return found(len(last))
}
