package guests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/guest/coresched"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/platform"
)

// Cores is a benchmark of the policies for the threads of cores.
type Cores struct {
	kernel, modules string
	turns, below    int
	rows            bool
	window          time.Duration
}

// NewCores reads the flags of the benchmark.
func NewCores(args []string) (c Cores, err error) {
	f := flag.NewFlagSet("core-scheduling", flag.ContinueOnError)
	f.StringVar(&c.kernel, "kernel", "", "kernel of the guest, with CONFIG_SCHED_CORE")
	f.StringVar(&c.modules, "modules", "", "folder of its modules, lib/modules/VERSION")
	f.IntVar(&c.turns, "turns", 4, "turns of all policies")
	f.IntVar(&c.below, "below", 50, "load below saturation, in percent")
	f.DurationVar(&c.window, "window", 4*time.Second, "time for each policy and load in a turn")
	f.BoolVar(&c.rows, "rows", false, "print each window as a line of JSON")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if f.NArg() > 0 || c.turns < 1 || c.below < 1 || c.below > 99 || c.window < time.Second {
		return c, errors.New("there is at least one turn, --below is from 1 to 99, --window at least 1s, and nothing stands after the flags")
	}
	return c, nil
}

// The groups of the benchmark.
const (
	groups       = 4
	groupThreads = 2
)

// row is a line of the output of spinner.
type row struct {
	Policy              coresched.Policy
	Turn, Load, Cookies int
	ForcedIdle          float64 // s
	ByGroups            float64 // s
	Work                int64
	Due, Finished       int64
	Response            float64 // s
	Busy, Foreign       int64
}

// Run measures what policies for the threads of cores cost, and whether they keep groups apart: on this host, if it has what they need
// and no kernel is given, and else in a guest.
func (c Cores) Run() ([]measured.Result, error) {
	dir, err := os.MkdirTemp("", "pb-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	spinner := filepath.Join(dir, "spinner")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", spinner, "./bench/guests/spinner")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the load: %w: %s", err, out)
	}
	args := []string{fmt.Sprint("-groups=", groups), fmt.Sprint("-threads=", groupThreads), fmt.Sprint("-turns=", c.turns), fmt.Sprint("-below=", c.below), fmt.Sprint("-window=", c.window)}
	output, err := c.here(spinner, args)
	if c.kernel != "" {
		output, err = c.inGuest(dir, spinner, args)
	}
	if err != nil {
		return nil, err
	}
	if c.rows {
		os.Stdout.Write(output) //nolint:errcheck // it is for a look
	}
	rows, err := spun(output)
	if err != nil {
		return nil, err
	}
	return c.results(rows), nil
}

// here runs the load on this host, unless a kernel is given.
func (c Cores) here(spinner string, args []string) ([]byte, error) {
	if c.kernel != "" {
		return nil, nil
	}
	h, err := coresched.ThisHost()
	if err != nil {
		return nil, err
	}
	if err := coresched.OneGuest.Possible(h); err != nil {
		return nil, fmt.Errorf("%w. Or have a guest run a kernel of Ubuntu: unpack the packages linux-image-unsigned-VERSION-generic and linux-modules-VERSION-generic by dpkg -x, "+
			"and name --kernel boot/vmlinuz-VERSION-generic --modules lib/modules/VERSION-generic", err)
	}
	run := exec.Command(spinner, args...)
	run.Stderr = os.Stderr
	return run.Output()
}

// inGuest runs the load in a guest whose cores have two threads.
func (c Cores) inGuest(dir, spinner string, args []string) ([]byte, error) {
	k, err := kernel.Open(c.kernel, c.modules)
	if err != nil {
		return nil, err
	}
	agent := &program{name: "spinning", source: agentSource, modules: []string{"channel"}, files: map[string]string{"spinner": spinner}}
	if err := agent.build(dir, k); err != nil {
		return nil, err
	}
	cores := max(1, runtime.NumCPU()/2) // more vCPUs than this host has CPUs do not run at the same time under TCG
	const others = 3 * 2                // windows of a turn
	ctx, cancel := context.WithTimeout(context.Background(), 5*guestLimit+time.Duration(4*c.turns*others)*c.window)
	defer cancel()
	g, err := qemu.Start(ctx, hardware.Shape{Name: "bench", CPU: hardware.CPU{Count: 2 * cores, Sockets: 1, Cores: cores, Threads: 2}, Memory: hardware.Memory{Size: 1 << 30}}, qemu.Options{
		Kernel: k, Initramfs: agent.archive, Dir: dir, BootTimeout: guestLimit, Accelerator: hardware.TCG,
	})
	if err != nil {
		return nil, err
	}
	defer g.Stop(ctx) //nolint:errcheck // the results are there
	far, err := agentOf(ctx, g)
	if err != nil {
		return nil, err
	}
	defer far.Close() //nolint:errcheck // the results are there
	r, err := far.Run(ctx, platform.Command{Argv: append([]string{"/spinner"}, args...)})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("the load in the guest ended with %d: %s", r.Exit, r.Stderr)
	}
	return r.Stdout, err
}

// spun reads the output of spinner.
func spun(output []byte) (all []row, err error) {
	in := json.NewDecoder(bytes.NewReader(output))
	for {
		var r row
		if err := in.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("output of the load: %w", err)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, errors.New("the load printed nothing")
	}
	return all, nil
}

// results compares policies with the default one in the same turn.
func (c Cores) results(rows []row) (lines []measured.Result) {
	for _, load := range []int{100, c.below} {
		for _, p := range coresched.Policies() {
			lines = append(lines, compare(rows, p, load)...)
		}
	}
	return lines
}

// compare is a policy at a load against the default one.
func compare(rows []row, p coresched.Policy, load int) []measured.Result {
	what := fmt.Sprintf("%s at %d %%: ", p, load)
	var busy, foreign, allBusy, allForeign int64
	var forced, byGroups, work, response []float64
	cookies := 0
	for _, r := range rows {
		if r.Load != load {
			continue
		}
		if r.Policy == coresched.Default {
			allBusy, allForeign = allBusy+r.Busy, allForeign+r.Foreign
		}
		if r.Policy != p {
			continue
		}
		busy, foreign, cookies = busy+r.Busy, foreign+r.Foreign, r.Cookies
		forced, byGroups = append(forced, r.ForcedIdle), append(byGroups, r.ByGroups)
		for _, d := range rows {
			if d.Policy == coresched.Default && d.Load == load && d.Turn == r.Turn {
				work, response = append(work, float64(r.Work)/float64(d.Work)), append(response, r.mean()/d.mean())
			}
		}
	}
	share := func(part, of int64) float64 { return 100 * float64(part) / float64(max(1, of)) }
	lines := []measured.Result{
		{What: what + "samples of a busy core with another group on its other thread", Got: share(foreign, busy), Against: "default", Limit: share(allForeign, allBusy), Unit: "%"},
		{What: what + "work, median of turns", Got: measured.Middle(work), Against: "default", Limit: 1},
		{What: what + "forced idle, median of turns", Got: measured.Middle(forced), Against: "that of the groups' threads", Limit: measured.Middle(byGroups), Unit: "s"},
		{What: what + "different cookies", Got: float64(cookies), Against: "groups", Limit: groups},
	}
	if load < 100 {
		lines = append(lines, measured.Result{What: what + "mean time until a portion of work is done, median of turns", Got: measured.Middle(response), Against: "default", Limit: 1})
	}
	return lines
}

// mean is the mean time from when a portion of work is due until it is done, in seconds.
func (r row) mean() float64 { return r.Response / float64(max(1, r.Finished)) }
