package peaks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"plimsoll/bench/measured"
	"plimsoll/internal/measure"
)

// Inside is the argument that has this program search in the network namespace that it was started in.
const Inside = "peaks-link-inside"

const (
	linkLimit  = .05 // on p95 of servers behind a link, in seconds
	linkWindow = 10. // in seconds
)

// linkServers are the servers, with the rates between which their peaks are sought. Answers of the first two have about 2 KiB.
var linkServers = []struct {
	name, service, workload string
	from, to                float64
}{
	{"nginx", "{nginx: {page_size: 2KiB, pages: 1, images: 0}}", "{web: {connections: 64, arrivals: poisson}}", 50, 2000},
	{"Redis", "redis", "{keyvalue: {read: 100%, keys: 1000, value: 2KiB, connections: 64, arrivals: poisson}}", 50, 2000},
	{"PostgreSQL", "postgresql", "{oltp: {rows: 2000, connections: 64, arrivals: poisson}}", 200, 8000},
}

// found is what was found of a server.
type found struct {
	Name         string
	From, To     float64 // rates between which the peak was sought
	Peak         measure.Peak
	Load         float64 // seconds for which loads were offered
	Below, Above float64 // p95 at 5 % below the interval, and at 5 % above it, in seconds; 0 without an interval
}

// Link searches the peaks of real servers behind a link of 8 Mbit/s, in a network namespace of its own: their limit does not depend on the CPU time
// that a shared host leaves. It needs root, ip and tc.
func Link() ([]measured.Result, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", Inside)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it stops its servers
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if errors.Is(err, syscall.EPERM) {
		return nil, errors.New("make a network namespace: permission denied; run as root")
	}
	if err != nil {
		return nil, fmt.Errorf("search behind a link: %w", err)
	}
	var all []found
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("search behind a link: %w: %.200q", err, out)
	}
	var results []measured.Result
	for _, f := range all {
		fmt.Printf("%-11s %s, claim %.4g/s, %.4g/s (%.4g to %.4g): %s\n", f.Name, f.Peak.Word, f.Peak.Sustained, f.Peak.Estimate, f.Peak.Low, f.Peak.High, f.Peak.Why)
		if f.Peak.Low <= 0 || f.Peak.High <= f.Peak.Low {
			return results, fmt.Errorf("%s behind a link: no interval", f.Name)
		}
		results = append(results,
			measured.Result{What: f.Name + " behind a link: load time of the search", Got: f.Load, Against: "all rates in steps of its interval", Limit: f.sweep(f.To), Unit: "s"},
			measured.Result{What: f.Name + " behind a link: load time of the search", Got: f.Load, Against: "the same until two rates fail", Limit: f.sweep(f.Peak.High) + linkWindow, Unit: "s"},
			measured.Result{What: f.Name + " behind a link: p95 at 5 % below the interval", Got: f.Below, Against: "limit", Limit: linkLimit, Unit: "s"},
			measured.Result{What: f.Name + " behind a link: p95 at 5 % above the interval", Got: f.Above, Against: "limit", Limit: linkLimit, Unit: "s"})
	}
	return results, nil
}

// sweep is how long a sweep offers loads up to a rate, each rate once for a window, in steps of the interval.
func (f *found) sweep(to float64) float64 {
	return math.Ceil((to-f.From)/(f.Peak.High-f.Peak.Low)) * linkWindow
}

// ServeLink makes the loopback device of this network namespace the link, searches, and writes what was found.
func ServeLink(ctx context.Context, out io.Writer) error {
	if err := apart(); err != nil {
		return err
	}
	for _, argv := range [][]string{
		{"ip", "link", "set", "lo", "mtu", "1500", "up"},
		{"tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "8mbit", "burst", "3kb", "latency", "1s"},
	} {
		if text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", argv, err, text)
		}
	}
	dir, err := os.MkdirTemp("", "bench-peaks-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // some servers refuse to run as root
		return err
	}
	var all []found
	for _, s := range linkServers {
		study := fmt.Sprintf("study: link\nquestion: Where is the peak?\nplatform: local\nservice: %s\nworkload: %s\n", s.service, s.workload)
		f := found{Name: s.name, From: s.from, To: s.to}
		if err := f.search(ctx, filepath.Join(dir, s.name), study); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, f)
	}
	return json.NewEncoder(out).Encode(all)
}

// apart fails in the network namespace of the parent process, whose loopback device is not ours to limit.
func apart() error {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return err
	}
	parent, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", os.Getppid()))
	if err != nil {
		return err
	}
	if own == parent {
		return errors.New("this would limit the loopback device of the host: run bench peaks-link, which makes a network namespace")
	}
	return nil
}

// search searches the peak of a server, and offers a rate on either side of the interval.
func (f *found) search(ctx context.Context, dir, study string) error {
	search := fmt.Sprintf("load: {peak: {within: {p95: %gs}, from: %g/s, to: %g/s}}\nmeasure: {window: %gs, longest: 10m, blocks: 1}\nheadline: [peak]\n", linkLimit, f.From, f.To, linkWindow)
	r, err := lastRecord(ctx, dir, study+search)
	if err != nil {
		return err
	}
	if r.Peak == nil {
		return errors.New("the search left no answer")
	}
	f.Peak = *r.Peak
	for _, p := range r.Probes {
		f.Load += p.To - p.From
	}
	for _, c := range []struct {
		rate float64
		p95  *float64
	}{{.95 * f.Peak.Low, &f.Below}, {1.05 * f.Peak.High, &f.Above}} {
		if c.rate <= 0 {
			continue
		}
		fixed := fmt.Sprintf("load: {rate: %g/s}\nmeasure: {window: 30s, longest: 40s, blocks: 1, retries: 20}\nheadline: [p95]\n", math.Round(c.rate))
		r, err := lastRecord(ctx, fmt.Sprintf("%s-%.0f", dir, c.rate), study+fixed)
		if err != nil {
			return err
		}
		p95, measured := r.Values["p95"]
		if !measured {
			return fmt.Errorf("no p95 at %.0f/s", c.rate)
		}
		*c.p95 = p95
	}
	return nil
}

// lastRecord runs a study and returns the record of its last trial.
func lastRecord(ctx context.Context, dir, text string) (*measure.Record, error) {
	l, request, err := written(dir+".yaml", text)
	if err != nil {
		return nil, err
	}
	request.Dir, request.Seed = dir, 1
	outcome, err := l.Run(ctx, request)
	if err != nil {
		return nil, err
	}
	if len(outcome.Input.Records) == 0 {
		return nil, errors.New("no trial was recorded")
	}
	return &outcome.Input.Records[len(outcome.Input.Records)-1], nil
}
