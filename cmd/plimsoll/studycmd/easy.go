package studycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/column"
	"plimsoll/internal/hci"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/easyrun"
	"plimsoll/internal/platform"
)

// planEasy prints the survey, the sizing and the jobs, and what a run of the first job would do.
func (c *commands) planEasy(cmd *cobra.Command, a *asked, asJSON bool) error {
	dir := (&output{}).folder(easyrun.Name)
	p, err := c.easy(cmd, a, dir)
	if err != nil {
		return err
	}
	preview, err := c.lab.Preview(cmd.Context(), p.Request(0, dir))
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(c.screen.Out, p)
	}
	return c.screen.Folded(func(w io.Writer) error {
		fmt.Fprintf(w, "%s: %s\n\n", easyrun.Name, p.Title())
		for _, line := range p.Survey.Lines() {
			fmt.Fprintln(w, line)
		}
		for i, j := range p.Jobs {
			fmt.Fprintf(w, "\njob %d: %s\n  plimsoll run %s --seed %d", i+1, j.Doc, hci.Study, p.Seed)
			for _, set := range append(append([]string{}, j.Sets...), p.Sets...) {
				fmt.Fprintf(w, " --set %s", platform.Quote([]string{set}))
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "\njob 1 in full:\n\n")
		return lab.PrintPreview(w, preview)
	})
}

// validateEasy checks the studies of the jobs.
func (c *commands) validateEasy(cmd *cobra.Command, a *asked, asJSON bool) error {
	p, err := c.easy(cmd, a, ".")
	if asJSON {
		return errors.Join(cli.PrintJSON(c.screen.Out, validity{Valid: err == nil, Mistakes: mistakes(err)}), err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.screen.Out, "%s is a valid easy run of %d jobs\n", easyrun.Name, len(p.Jobs))
	return err
}

// easy plans the easy run.
func (c *commands) easy(cmd *cobra.Command, a *asked, dir string) (*easyrun.Plan, error) {
	seed := lab.DrawSeed()
	if cmd.Flags().Changed("seed") {
		seed = a.seed
	}
	p, err := easyrun.New(cmd.Context(), c.lab, a.overrides(), seed, dir)
	if err != nil {
		return nil, cli.Mistake(err)
	}
	return p, nil
}

// runEasy runs the easy run into a new folder.
func (c *commands) runEasy(cmd *cobra.Command, a *asked, o *output) error {
	dir := o.folder(easyrun.Name)
	p, err := c.easy(cmd, a, dir)
	if err != nil {
		return err
	}
	if err := c.feasible(cmd.Context(), p, dir); err != nil {
		return err
	}
	if err := p.Create(dir); err != nil {
		return cli.Mistake(err)
	}
	return c.performEasy(cmd.Context(), p, dir, &o.reporting)
}

// feasible checks what the jobs need before anything is made. They differ in sizes only, so that one stands for all.
func (c *commands) feasible(ctx context.Context, p *easyrun.Plan, dir string) error {
	_, err := c.lab.Preview(ctx, p.Request(0, dir))
	return err
}

// performEasy runs the jobs that are left, and prints the figures.
func (c *commands) performEasy(ctx context.Context, p *easyrun.Plan, dir string, o *reporting) error {
	watch, err := c.watch(ctx, o)
	if err != nil {
		return err
	}
	overview, err := p.Run(watch.Context, c.lab, dir)
	err = watch.Done(err)
	if overview == nil {
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w; to continue: plimsoll resume %s", err, dir)
		}
		return err
	}
	if o.json {
		return errors.Join(cli.PrintJSON(c.screen.Out, overview), err)
	}
	if e := c.screen.Folded(func(w io.Writer) error { return printOverview(w, overview) }); e != nil {
		return e
	}
	fmt.Fprintf(c.screen.Out, "\nreport: %s\n", filepath.Join(dir, "report.html"))
	return err
}

// printOverview writes the figures of all jobs.
func printOverview(w io.Writer, o *easyrun.Overview) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", easyrun.Name, o.Title())
	table := column.NewTable(&b)
	fmt.Fprintln(table, strings.Join(o.Columns(), "\t"))
	for i := range o.Rows {
		fmt.Fprintln(table, strings.Join(o.Rows[i].Cells(o.Profile != hci.Max), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, note := range o.Notes() {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
