package clustercmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster/importer"
	"plimsoll/internal/cluster/trace"
	"plimsoll/internal/parameter"
)

func importCommand(c *cli.Screen) *cobra.Command {
	i := importing{}
	var formats []string
	var list strings.Builder
	for _, f := range importer.Formats() {
		formats = append(formats, f[0])
		fmt.Fprintf(&list, "  %-14s %s\n", f[0], f[1])
	}
	cmd := &cobra.Command{
		Use:   "import FORMAT FILE...",
		Short: "convert a published VM trace to a snapshot and a demand trace",
		Long: `Read a published trace that you provide and summarize it. With --out, the VMs present at
one point in time become a snapshot with their demand so far. With --trace, the demand after
it becomes a demand trace. Traces do not describe hosts: there are as many as the peak needs,
unless given. The formats are:

` + strings.TrimRight(list.String(), "\n"),
		Example:   "  plimsoll cluster import bitbrains fastStorage/ --at 3d --out lab.yaml --trace demand.csv\n  plimsoll cluster import huawei Huawei-East-1.csv --host-cores 64 --host-memory 256GiB --out lab.yaml",
		Args:      cobra.MinimumNArgs(2),
		ValidArgs: formats,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := i.read(); err != nil {
				return cli.Mistake(err)
			}
			r, err := i.run(cmd.Context(), args[0], args[1:])
			if err != nil {
				return err
			}
			return c.Tell(r, i.asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&i.out, "out", "", "write the snapshot to a new `file`")
	f.StringVar(&i.trace, "trace", "", "write the demand trace to a new `file`")
	f.StringVar(&i.at, "at", "", "`time` of the snapshot since the trace began, as 3d, 12h or 90m; default the middle")
	f.IntVar(&i.o.Hosts, "hosts", 0, "number of hosts; default as many as the peak needs")
	f.IntVar(&i.o.HostCores, "host-cores", 0, "cores of a host; default 64, or more if a VM has more")
	f.StringVar(&i.memory, "host-memory", "", "memory of a host as `size`; default 512GiB, or more if a VM has more")
	f.Int64Var(&i.o.MHz, "mhz", 0, "clock speed of a core in `MHz`; default that of the trace, or 2600")
	f.IntVar(&i.o.Every, "every", 1, "take one VM in N")
	f.StringVar(&i.o.Generation, "generation", "", "hardware `generation` whose VM sizes are used (azure-packing); default the most common")
	f.StringVar(&i.demand, "demand", "", "`share` of its size that a VM demands if the trace has no demand, as 30%; default half, and none in the snapshot")
	f.BoolVar(&i.o.Waiting, "waiting", false, "leave all VMs waiting for a host")
	f.BoolVar(&i.asJSON, "json", false, "print JSON")
	return cmd
}

// importing is what was asked of an import.
type importing struct {
	out, trace, at, memory, demand string
	asJSON                         bool
	o                              importer.Options
}

func (i *importing) read() error {
	i.o.At = importer.Middle
	if i.at != "" {
		at, err := readTime("--at", i.at)
		if err != nil {
			return err
		}
		i.o.At = at
	}
	if i.memory != "" {
		var b parameter.Bytes
		if err := b.UnmarshalText([]byte(i.memory)); err != nil {
			return fmt.Errorf("--host-memory %q: must be %w", i.memory, err)
		}
		i.o.HostMemory = int64(b)
	}
	if i.demand != "" {
		var s parameter.Share
		if err := s.UnmarshalText([]byte(i.demand)); err != nil || s < 0.005 {
			return fmt.Errorf("--demand %q: must be a percentage from 1%% to 100%%", i.demand)
		}
		i.o.Demand = int(math.Round(float64(s) * 100))
	}
	return nil
}

// readTime reads the time of a flag, in seconds: days, or what Go reads.
func readTime(flag, text string) (int64, error) {
	wrong := fmt.Errorf("%s %q: must be a time with its unit, like 3d, 12h or 90m", flag, text)
	if number, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n >= 0 && n < 36_500) {
			return 0, wrong
		}
		return int64(math.Round(n * 86_400)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wrong
	}
	return int64(d / time.Second), nil
}

// run imports, and has the files in their places only when all of them are whole.
func (i *importing) run(ctx context.Context, format string, files []string) (*importer.Result, error) {
	demand, err := cli.NewFile(i.trace)
	if err != nil {
		return nil, err
	}
	defer demand.Drop()
	snap, err := cli.NewFile(i.out)
	if err != nil {
		return nil, err
	}
	defer snap.Drop()
	var w *trace.Writer
	if demand != nil {
		w = trace.NewWriter(demand)
	}
	r, err := importer.Import(ctx, format, files, i.o, w)
	switch {
	case err == nil:
	case demand != nil && demand.Failed != nil, ctx.Err() != nil:
		return nil, err
	default:
		return nil, cli.Mistake(err)
	}
	if snap != nil {
		if err := writeSnapshot(snap, r.Cluster, strings.HasSuffix(i.out, ".json")); err != nil {
			return nil, fmt.Errorf("write the snapshot: %w", err)
		}
	}
	return r, errors.Join(demand.Keep(), snap.Keep())
}
