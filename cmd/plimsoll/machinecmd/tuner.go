package machinecmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/tuner"
)

// tuning is a tuner of this host as flags say it.
type tuning struct {
	tuner.Options
	asJSON bool
}

// Flags of the agent that belong to a tuner, and those of both.
var (
	ofTuner = []string{"tuner", "every", "batch", "interface", "json"}
	ofBoth  = []string{"help"}
)

func (t *tuning) flags(f *pflag.FlagSet) {
	rule := t.Rule
	t.Rule = ""
	f.StringVar(&t.Rule, "tuner", "", "tune this host by a `rule`: "+rule)
	f.DurationVar(&t.Every, "every", t.Every, "with --tuner, `time` between decisions")
	f.DurationVar(&t.Hold, "batch", t.Hold, "with --tuner, `time` for which packets may wait to be batched")
	f.StringArrayVar(&t.Interfaces, "interface", nil, "with --tuner, change only this network `interface`; may be repeated")
	f.BoolVar(&t.asJSON, "json", false, "with --tuner, print each decision as a line of JSON")
}

// asked reports whether a tuner is asked for. Its flags and those of an agent exclude each other.
func (t *tuning) asked(cmd *cobra.Command) (bool, error) {
	tunes := cmd.Flags().Changed("tuner")
	var wrong []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(ofTuner, f.Name) != tunes && !slices.Contains(ofBoth, f.Name) {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	switch {
	case len(wrong) > 0 && tunes:
		return false, fmt.Errorf("--tuner tunes this host and joins no lab: leave out %s", strings.Join(wrong, ", "))
	case len(wrong) > 0:
		return false, fmt.Errorf("%s requires --tuner", strings.Join(wrong, ", "))
	case tunes:
		return true, t.Check()
	}
	return false, nil
}

// tune tunes this host until the user ends it.
func (c *commands) tune(cmd *cobra.Command, t tuning) error {
	t.Open = func(ctx context.Context) (platform.Platform, error) { return local.Kind().Open(ctx, nil, 0) }
	t.Report = c.printEvent
	if t.asJSON {
		lines := json.NewEncoder(c.screen.Out)
		lines.SetEscapeHTML(false)
		t.Report = func(e tuner.Event) { _ = lines.Encode(e) } // the tuner goes on where nobody reads
	}
	return tuner.Run(cmd.Context(), t.Options)
}

// printEvent prints an event: a line that says what was decided, and one for each consequence.
func (c *commands) printEvent(e tuner.Event) {
	fmt.Fprintf(c.screen.Out, "%s %s\n", e.Time.Format(time.RFC3339), e.Text)
	for _, line := range slices.Concat(e.Changes, e.Notes) {
		fmt.Fprintf(c.screen.Out, "  %s\n", line)
	}
	if e.Error != "" {
		fmt.Fprintf(c.screen.Out, "  error: %s\n", e.Error)
	}
}
