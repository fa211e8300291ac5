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
	f.IntVar(&c.turns, "turns", 5, "turns of all policies")
	f.IntVar(&c.below, "below", 50, "load below saturation, in percent")
	f.DurationVar(&c.window, "window", 3*time.Second, "time for each policy and load in a turn")
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
	return c.results(rows)
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
	shape := hardware.Shape{Name: "bench", CPU: hardware.CPU{Count: 2 * cores, Sockets: 1, Cores: cores, Threads: 2}, Memory: hardware.Memory{Size: 1 << 30}}
	r, err := runInGuest(ctx, shape, qemu.Options{
		Kernel: k, Initramfs: agent.archive, Dir: dir, BootTimeout: guestLimit, Accelerator: hardware.TCG,
	}, append([]string{"/spinner"}, args...))
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
func (c Cores) results(rows []row) (lines []measured.Result, err error) {
	for _, load := range []int{100, c.below} {
		usual := tallied(rows, coresched.Default, load)
		if usual.busy == 0 {
			return nil, errors.New("the threads of a core never worked at the same time: the host is too busy for its guest, or longer windows are needed")
		}
		for _, p := range coresched.Policies() {
			lines = append(lines, tallied(rows, p, load).against(usual)...)
		}
	}
	return lines, nil
}

// tally is what the groups did under a policy at a load, over all turns.
type tally struct {
	what           string
	policy         coresched.Policy
	busy, foreign  int64
	work, response []float64 // relative to default, by turn
	forced         []float64 // s, by turn
	byGroups       []float64 // s, by turn
	cookies        int
}

func tallied(rows []row, p coresched.Policy, load int) tally {
	t := tally{what: fmt.Sprintf("%s at %d %%: ", p, load), policy: p}
	for _, r := range rows {
		if r.Load != load || r.Policy != p {
			continue
		}
		t.busy, t.foreign, t.cookies = t.busy+r.Busy, t.foreign+r.Foreign, r.Cookies
		t.forced, t.byGroups = append(t.forced, r.ForcedIdle), append(t.byGroups, r.ByGroups)
		for _, d := range rows {
			if d.Policy == coresched.Default && d.Load == load && d.Turn == r.Turn {
				t.work = append(t.work, float64(r.Work)/float64(d.Work))
				if load < 100 {
					t.response = append(t.response, r.mean()/d.mean())
				}
			}
		}
	}
	return t
}

// share is that of samples with another group, in percent.
func (t tally) share() float64 { return 100 * float64(t.foreign) / float64(max(1, t.busy)) }

// against are the lines of a policy, compared with the default one.
func (t tally) against(usual tally) []measured.Result {
	lines := []measured.Result{{
		What: fmt.Sprintf("%s%d samples of a thread at work beside another one: of another group", t.what, t.busy), Got: t.share(), Against: "default", Limit: usual.share(), Unit: "%",
	}}
	if t.policy == coresched.Default {
		return lines
	}
	lines = append(lines, measured.Result{What: t.what + "work, median of turns", Got: measured.Middle(t.work), Against: "default", Limit: 1})
	if len(t.response) > 0 {
		lines = append(lines, measured.Result{What: t.what + "mean time until a portion of work is done, median of turns", Got: measured.Middle(t.response), Against: "default", Limit: 1})
	}
	if t.policy == coresched.OneGuest {
		lines = append(lines, measured.Result{What: t.what + "forced idle, median of turns", Got: measured.Middle(t.forced), Against: "as the threads say", Limit: measured.Middle(t.byGroups), Unit: "s"},
			measured.Result{What: t.what + "different cookies", Got: float64(t.cookies), Against: "groups", Limit: groups})
	}
	return lines
}

// mean is the mean time from when a portion of work is due until it is done, in seconds.
func (r row) mean() float64 { return r.Response / float64(max(1, r.Finished)) }
