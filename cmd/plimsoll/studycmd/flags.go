package studycmd

import (
	"fmt"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/catalog/manual"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/easyrun"

	"plimsoll/internal/study/credential"
	"plimsoll/internal/study/describe"
)

// asked holds the flags by which a study is named and changed.
type asked struct {
	sets     []string
	platform string
	blocks   string
	seed     uint64
}

func (a *asked) flags(c *commands, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&a.sets, "set", nil, "override a setting of the study, as `path=value`: measure.window=5s, storage.disks=4")
	f.StringVar(&a.platform, "platform", "", "`platform` instead of that of the study")
	f.StringVar(&a.blocks, "blocks", "", "`number` of blocks, or auto")
	f.Uint64Var(&a.seed, "seed", 0, "random seed (default: that of the study, else generated and printed)")
	cli.Complete(cmd, "platform", func(string) []string { return c.lab.Catalog.Names("platform") })
	cli.Complete(cmd, "blocks", func(string) []string { return []string{"auto"} })
	cli.Complete(cmd, "set", c.paths)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append(lab.Names(), easyrun.Name), cobra.ShellCompDirectiveDefault
	}
}

// overrides are the settings that the flags override.
func (a *asked) overrides() []string {
	sets := a.sets
	if a.platform != "" {
		sets = append([]string{"platform=" + a.platform}, sets...) // first, so that others can set something of it
	}
	if a.blocks != "" {
		sets = append(sets, "measure.blocks="+a.blocks)
	}
	return sets
}

// request reads the study that was asked for.
func (c *commands) request(cmd *cobra.Command, name string, a *asked) (lab.Request, error) {
	source, err := c.lab.Read(name, a.overrides())
	if err != nil {
		return lab.Request{}, err
	}
	for _, warning := range credential.Warnings(source.Study) {
		fmt.Fprintf(c.screen.Err, "plimsoll: warning: %s\n", warning)
	}
	r := lab.Request{Source: *source}
	switch {
	case cmd.Flags().Changed("seed"):
		r.Seed = a.seed
	case source.Study.Seed != nil:
		r.Seed = *source.Study.Seed
	default:
		r.Seed = lab.DrawSeed()
	}
	return r, nil
}

// paths are what --set can override, each with "=": keys of a study and settings
// of everything in the catalog.
func (c *commands) paths(string) []string {
	var out []string
	for _, path := range append(describe.Paths(), manual.Settings(c.lab.Catalog)...) {
		out = append(out, path+"=")
	}
	return out
}
