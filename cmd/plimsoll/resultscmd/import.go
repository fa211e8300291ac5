package resultscmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/lab/importer"
	"plimsoll/internal/measure/foreign/table"
	"plimsoll/internal/measure/imported"
)

// importFlags are the flags of import as written.
type importFlags struct {
	dir, format, unit    string
	arms, maps, headline []string
	asJSON               bool
}

func (c *commands) importResults() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "import FILE... --out DIR",
		Short: "import results of other tools, or their configurations as studies",
		Long: `Import results of other tools into a results folder, on which report, compare, audit
and export work. Formats are recognised:
  ` + wrapped(imported.FormatNames(), 78) + `
and folders of HCIBench. What a file cannot carry is printed, and stands in the report.

Several files are repetitions. A second within a file is no trial, and a verdict needs
several runs. --arm names sides to compare. Files with counters (esxtop, sysstat, perf)
belong to the results of their arm, in order.

Configuration files of Iometer (.icf) become studies, one per access specification, and
parameter files of HCIBench, one per file. With HCIBench's configuration (perf-conf.yaml,
or hcibench.cfg of a case) they run on guests like its VMs. Addresses and accounts are
not taken over.`,
		Example: "  plimsoll import run1.txt run2.txt run3.txt --out results/pgbench\n" +
			"  plimsoll import --arm before='b*.json' --arm after=a1.json,a2.json --out results/move\n" +
			"  plimsoll import runs.csv --map throughput=mb_per_s:MB/s --map p99=lat_p99:ms --out results/own\n" +
			"  plimsoll import perf-conf.yaml fio-param-files/* --out studies",
		RunE: func(_ *cobra.Command, args []string) error {
			request, err := flags.request(args)
			if err != nil {
				return cli.Mistake(err)
			}
			done, err := importer.Import(c.lab, request)
			if done != nil {
				err = errors.Join(printImported(c.screen, done, flags.asJSON), err)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.dir, "out", "", "results `folder` to create, or folder for the studies")
	f.StringVar(&flags.format, "format", "", "`name` of the format, where it is not recognised")
	f.StringArrayVar(&flags.arms, "arm", nil, "`arm` as NAME=FILE,FILE..., each file a repetition; the first is the baseline")
	f.StringArrayVar(&flags.headline, "headline", nil, "`metric` that decides (default: the first that every run has)")
	f.StringArrayVar(&flags.maps, "map", nil, "`mapping` METRIC=COLUMN[:UNIT] of a CSV file with one row per run")
	f.StringVar(&flags.unit, "unit", "", "`unit` of the values of an HDR log: ns, us or ms")
	f.BoolVar(&flags.asJSON, "json", false, "print what was written as JSON")
	return cmd
}

// wrapped writes names in lines of a width, indented like the first.
func wrapped(names []string, width int) string {
	var lines []string
	line := ""
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if line != "" && len(line)+1+len(name) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + name)
	}
	return strings.Join(append(lines, line), "\n  ")
}

var histogramUnits = map[string]time.Duration{"": 0, "ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond}

// request reads the flags. Their errors are mistakes.
func (f *importFlags) request(args []string) (importer.Request, error) {
	r := importer.Request{Source: imported.Source{Files: args, Format: f.format}, Dir: f.dir, Headline: f.headline}
	for _, text := range f.maps {
		column, err := table.ParseColumn(text)
		if err != nil {
			return r, fmt.Errorf("--map: %w", err)
		}
		r.Columns = append(r.Columns, column)
	}
	unit, known := histogramUnits[f.unit]
	if !known {
		return r, fmt.Errorf("--unit: unknown unit %q; known: ns, us, ms", f.unit)
	}
	r.Unit = unit
	named := map[string]bool{}
	for _, text := range f.arms {
		name, files, ok := strings.Cut(text, "=")
		if !ok || name == "" || files == "" {
			return r, fmt.Errorf("--arm: %q is not NAME=FILE,FILE", text)
		}
		if named[name] {
			return r, fmt.Errorf("--arm: %q is named twice: list its files in one", name)
		}
		named[name] = true
		r.Arms = append(r.Arms, imported.Arm{Name: name, Files: strings.Split(files, ",")})
	}
	switch {
	case len(args) > 0 && r.Arms != nil:
		return r, fmt.Errorf("%s belongs to no arm: list it in one of --arm", args[0])
	case len(args) == 0 && r.Arms == nil:
		return r, errors.New("name the files to import, such as: plimsoll import run1.txt run2.txt --out results/mine")
	}
	return r, nil
}

func printImported(s *cli.Screen, done *importer.Imported, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(s.Out, done)
	}
	for _, line := range done.Studies {
		fmt.Fprintln(s.Out, line)
	}
	if r := done.Results; r != nil {
		return printFolder(s.Out, r, s.Columns())
	}
	return nil
}

func printFolder(w io.Writer, r *importer.Folder, width int) error {
	fmt.Fprintf(w, "wrote %s, with results of %s\n", r.Dir, strings.Join(r.Tools, ", "))
	for _, a := range r.Arms {
		void := ""
		if a.Void > 0 {
			void = fmt.Sprintf(", %d of them void", a.Void)
		}
		plural := "s"
		if a.Trials == 1 {
			plural = ""
		}
		var levels []string // of the baseline, which its label does not name
		for _, name := range slices.Sorted(maps.Keys(a.Levels)) {
			if label := name + "=" + a.Levels[name]; !strings.Contains(a.Label, label) {
				levels = append(levels, label)
			}
		}
		label := a.Label
		if levels != nil {
			label += " (" + strings.Join(levels, ", ") + ")"
		}
		fmt.Fprintf(w, "  %s: %d run%s%s, from %s\n", label, a.Trials, plural, void, strings.Join(a.Files, ", "))
	}
	fmt.Fprintf(w, "%s", cli.Fold(r.Answer+"\n", width))
	for _, text := range r.Warnings {
		fmt.Fprintf(w, "%s", cli.Fold("note: "+text+"\n", width))
	}
	if r.Absent != "" {
		fmt.Fprintf(w, "%s", cli.Fold("not in the files: "+r.Absent+"\n", width))
	}
	_, err := fmt.Fprintf(w, "plimsoll report %s shows it\n", r.Dir)
	return err
}
