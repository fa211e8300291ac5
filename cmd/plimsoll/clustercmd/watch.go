package clustercmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/live/watch"
)

// watching is the options of a watch.
type watching struct {
	from     *origin
	ledger   ledgerFile
	format   string
	interval time.Duration
	length   time.Duration
	told     bool // anything
}

func watchCommand(c *clusters) *cobra.Command {
	w := &watching{from: &origin{clusters: c}}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "follow a live cluster: load, recommendations, events and moves",
		Long: `Follow a live cluster and print what is new: changes of load, recommended moves with their
reasons, events, moves that were not recommended, and whether predictions came true. A quiet
cluster gives a quiet log. Nothing is changed.

With --ledger, the rounds are appended to a file, which the doctor reads too. A later watch
with the same ledger continues where the last one ended.

It survives restarts of the control plane. It ends with Ctrl-C, or after the time of --for.`,
		Example: "  plimsoll cluster watch --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD' --ledger lab.ledger\n" +
			"  plimsoll cluster watch --live 'vsphere://operator@vcenter.example/DC/Cluster?password=env:VCENTER_PASSWORD' --for 1h --format lines",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.run(cmd.Context()) },
	}
	w.from.flag(cmd)
	f := cmd.Flags()
	f.StringVar((*string)(&w.ledger), "ledger", "", "`file` with previous rounds: continue after the last one and append")
	f.StringVar(&w.format, "format", "text", "text or lines (JSON objects, one per line)")
	f.DurationVar(&w.interval, "interval", time.Minute, "`time` between rounds of recommendations")
	f.DurationVar(&w.length, "for", 0, "end after this `time`, such as 1h; default never")
	return cmd
}

func (w *watching) run(ctx context.Context) error {
	switch {
	case w.from.url == "":
		return cli.Mistake(errors.New("watch requires --live, the URL of the cluster"))
	case w.format != "text" && w.format != "lines":
		return cli.Mistake(fmt.Errorf("--format %q: must be text or lines", w.format))
	case w.interval < time.Second:
		return cli.Mistake(fmt.Errorf("--interval %s: must be at least 1s", w.interval))
	case w.length < 0:
		return cli.Mistake(fmt.Errorf("--for %s: must not be negative", w.length))
	}
	ledger, err := w.ledger.read()
	if err != nil {
		return err
	}
	ctx, stop := stoppable(ctx)
	defer stop()
	s, err := w.from.open(ctx)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-w.from.clusters.Abandoned():
			end()
		case <-ctx.Done():
		}
	}()
	if w.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.length)
		defer cancel()
	}
	watcher := watch.Watcher{Source: s.connection.Source, Interval: w.interval, Ledger: ledger, Tell: w.tell}
	if w.ledger != "" {
		watcher.Enter = func(r *doctor.Round) error { return w.ledger.enter(ledger, r) }
	}
	err = watcher.Run(ctx)
	if err == nil && !w.told && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("watch %s: --for %s was over before the cluster was read: set a longer time", s.address, w.length)
	}
	return s.close(err)
}

// tell prints a line.
func (w *watching) tell(l watch.Line) error {
	w.told = true
	if w.format == "text" {
		_, err := io.WriteString(w.from.clusters.Out, cli.Fold(l.String()+"\n", w.from.clusters.Columns()))
		return err
	}
	e := json.NewEncoder(w.from.clusters.Out)
	e.SetEscapeHTML(false)
	return e.Encode(l)
}
