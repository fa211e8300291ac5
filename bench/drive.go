package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/bench/peaks"
	"plimsoll/bench/vcenter"
	"plimsoll/internal/agent"
	"plimsoll/internal/catalog"
	"plimsoll/internal/catalog/subprocess"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/nbd"
	"plimsoll/internal/parameter"
	"plimsoll/internal/router"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/service/responder"
	"plimsoll/internal/workload"
)

// driver is the argument that makes this program the client of a load and nothing
// else, so that what is measured of the process is the load's.
const driver = "drive"

// drive is what such a client is told on its standard input.
type drive struct {
	Workload string
	Settings parameter.Settings
	At       load.Endpoint
	Length   time.Duration
}

// part runs this program as a part of a benchmark, if it was started as one.
func part() (ran bool, err error) {
	if len(os.Args) > 1 && os.Args[1] == "truth" {
		return true, truths(os.Args[2:])
	}
	if len(os.Args) != 2 {
		return false, nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch os.Args[1] {
	case driver:
		return true, driving(ctx, os.Stdin, os.Stdout)
	case crowd:
		return true, crowding(ctx, os.Stdin, os.Stdout)
	case agent.Command:
		_, err := subprocess.Serve(os.Args[1:], func() []workload.Kind { return catalog.All().Workloads }, os.Stdin, os.Stdout)
		return true, err
	case responder.Command:
		return true, responder.Serve(ctx, os.Stdin, os.Stdout)
	case reflector.Command:
		return true, reflector.Serve(ctx, os.Stdin, os.Stdout)
	case vcenter.Command:
		return true, vcenter.Serve(os.Stdin, os.Stdout)
	case peaks.Inside:
		return true, peaks.ServeLink(ctx, os.Stdout)
	case nbd.Command:
		return true, nbd.Serve(ctx, os.Stdin, os.Stdout)
	case router.Command:
		return true, router.Serve(ctx, os.Stdin, os.Stdout)
	case nbd.FilterCommand:
		return true, nbd.ServeFilter(os.Stdin, os.Stdout)
	}
	return false, nil
}

// driving makes the load that it reads, and prints the result.
func driving(ctx context.Context, in io.Reader, printed io.Writer) error {
	var d drive
	if err := json.NewDecoder(in).Decode(&d); err != nil {
		return fmt.Errorf("read what to drive: %w", err)
	}
	l, err := made(d.Workload, d.Settings)
	if err != nil {
		return err
	}
	env := workload.Env{Dir: os.TempDir(), Seed: 1, Target: func(string) (load.Endpoint, error) { return d.At, nil }, Log: func(string, ...any) {}}
	runtime.GC()
	before, err := measured.Resident("self", "VmRSS")
	if err != nil {
		return err
	}
	out := measure.NewRecorder(nil)
	if err := l.Run(ctx, env, load.Stage{Length: d.Length, Interval: d.Length / 8, Seed: 1}, out); err != nil {
		return err
	}
	sum, err := measure.Summarise(out.Intervals(), measure.Window{End: d.Length.Seconds()}, "rate")
	if err != nil {
		return err
	}
	values := out.Values()
	for name, v := range sum.Values {
		values[name] = v
	}
	most, err := measured.Resident("self", "VmHWM")
	if err != nil {
		return err
	}
	values["memory.before"], values["memory.most"] = before, most
	values["errors"], values["operations"] = float64(sum.Counts["errors"]), float64(sum.Counts["operations"])
	return json.NewEncoder(printed).Encode(values)
}

// by runs the load in a process of its own, by way of another program where one is
// given, and returns its values.
func (d drive) by(argv ...string) (map[string]float64, error) {
	order, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	argv = append(argv, os.Args[0], driver)
	cmd := exec.Command(argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), &said
	printed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", d.Workload, err, said.String())
	}
	var values map[string]float64
	if err := json.Unmarshal(printed, &values); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", d.Workload, err, printed)
	}
	return values, nil
}

// middle is the median of a value over several turns.
func middle(turns []map[string]float64, name string) float64 {
	all := make([]float64, len(turns))
	for i, t := range turns {
		all[i] = t[name]
	}
	return measured.Middle(all)
}
