package hci

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"plimsoll/bench/causes/scene"
	"plimsoll/internal/catalog"
	"plimsoll/internal/finding"
	"plimsoll/internal/lab"
	"plimsoll/internal/trial"
)

// side is a limit of a cluster that is made on purpose.
type side struct {
	name    string
	load    string                                    // settings of the workload storage
	more    string                                    // further lines of the study
	service string                                    // further settings of the cluster
	plant   func(s *scene.Scene, osds []string) error // once the OSDs run; nil for nothing
	named   func(e finding.Explanation) bool          // the explanation that is right
}

// busy is a load that keeps a cluster busy.
const busy = "disks: 2, threads: 2, depth: 8"

func says(text string) func(finding.Explanation) bool {
	return func(e finding.Explanation) bool {
		return e.Rule == "storage_side" && strings.HasPrefix(e.Sentence.Text, text)
	}
}

var sides = []side{
	{name: "one-thread", load: "disks: 1, threads: 1, depth: 1", named: says("The load limits")},
	{name: "client-cpu", load: busy, more: "factors: {host.quota: [\"0.1\"]}", named: func(e finding.Explanation) bool {
		return says("The CPU of the clients limits")(e) || e.Rule == "cpu_quota" && strings.Contains(e.Sentence.Text, "fio")
	}},
	{name: "osd-cpu", load: busy, named: func(e finding.Explanation) bool {
		return says("The OSDs lack CPU")(e) || e.Rule == "cpu_quota" && strings.Contains(e.Sentence.Text, "ceph-osd")
	}, plant: func(s *scene.Scene, osds []string) error {
		g, err := s.Group("plimsoll-osds", "cpu")
		if err == nil {
			err = g.Quota(20)
		}
		return errors.Join(err, joined(g, osds))
	}},
	{name: "device", load: busy, named: func(e finding.Explanation) bool {
		return says("The devices limit")(e) || e.Rule == "io_throttle" && strings.Contains(e.Sentence.Text, "ceph-osd")
	}, plant: func(s *scene.Scene, osds []string) error {
		g, err := s.Group("plimsoll-osds", "blkio")
		if err == nil {
			err = g.Throttle(diskOf(s), false, 200)
		}
		return errors.Join(err, joined(g, osds))
	}},
	{name: "network", load: "disks: 2, threads: 1, depth: 4", service: ", network: namespaces, network_latency: 5ms", named: says("The network between the OSDs limits")},
	{name: "slow-osd", load: busy, named: says("One OSD limits the cluster"), plant: func(s *scene.Scene, osds []string) error {
		ctx, cancel := context.WithCancel(s)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			stutter(ctx, osds[1])
		}()
		s.Undo(func() error {
			cancel()
			<-ended
			return nil
		})
		return nil
	}},
	{name: "a/a", load: busy, more: "factors: {storage.working_set: [100%, 99.9%]}"},
}

func joined(g *scene.Group, osds []string) (all error) {
	if g == nil {
		return nil
	}
	for _, pid := range osds {
		all = errors.Join(all, g.Join(pid))
	}
	return all
}

// stutter stops a process half of the time.
func stutter(ctx context.Context, pid string) {
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	signal := "-STOP"
	for {
		_ = exec.Command("kill", signal, pid).Run()
		signal = map[string]string{"-STOP": "-CONT", "-CONT": "-STOP"}[signal]
		select {
		case <-ctx.Done():
			_ = exec.Command("kill", "-CONT", pid).Run()
			return
		case <-tick.C:
		}
	}
}

// diskOf is the disk under the folder of the scene.
func diskOf(s *scene.Scene) string {
	out, err := s.Run("df", "--output=source", s.Dir)
	if err != nil {
		return ""
	}
	lines := strings.Fields(out)
	return lines[len(lines)-1]
}

// Sides makes limits of a cluster on purpose, where the arguments ask for it, and counts how often the report names them.
func Sides(args []string) (ran bool, err error) {
	if len(args) == 0 || args[0] != "sides" {
		return false, nil
	}
	f := flag.NewFlagSet("sides", flag.ContinueOnError)
	runs := f.Int("runs", 1, "runs of each limit")
	if err := f.Parse(args[1:]); err != nil {
		return true, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LIMIT\tRUNS\tNAMED")
	for _, one := range sides {
		if f.NArg() > 0 && !slices.Contains(f.Args(), one.name) {
			continue
		}
		named := 0
		for run := range *runs {
			is, err := one.once(ctx, uint64(run)+1)
			if err != nil {
				return true, fmt.Errorf("%s: %w", one.name, err)
			}
			if is {
				named++
			}
		}
		fmt.Fprintf(table, "%s\t%d\t%d\n", one.name, *runs, named)
	}
	return true, table.Flush()
}

// once runs a study with the limit, and reports whether it is named first; without a limit, whether nothing is.
func (o side) once(ctx context.Context, seed uint64) (named bool, err error) {
	s, err := scene.New(ctx, os.Args[0], nil, seed, true)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	text := o.study()
	file := s.Path("side.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return false, err
	}
	loaded := make(chan struct{}) // a cluster that is limited from the start takes minutes to start
	load := sync.OnceFunc(func() { close(loaded) })
	l := &lab.Lab{Catalog: catalog.All(), Version: "bench", Progress: func(e trial.Event) {
		if e.Rate > 0 {
			load()
		}
	}}
	source, err := l.Read(file, nil)
	if err != nil {
		return false, err
	}
	dir := s.Path("results")
	planted := make(chan error, 1)
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-loaded:
			planted <- o.plantIn(run, s, dir)
		case <-run.Done():
			planted <- nil
		}
	}()
	outcome, err := l.Run(ctx, lab.Request{Source: *source, Dir: dir, Seed: seed})
	cancel()
	if failed := <-planted; failed != nil && outcome != nil {
		return false, failed
	}
	if err != nil {
		return false, err
	}
	all := outcome.Findings.Explanations
	for _, e := range all {
		fmt.Fprintf(os.Stderr, "%s, seed %d: %s: %s\n", o.name, seed, e.Rule, e.Sentence.Text)
	}
	if o.named == nil {
		return len(all) == 0, nil
	}
	return len(all) > 0 && o.named(all[0]), nil
}

// study is a study of the limited cluster.
func (o side) study() string {
	text := fmt.Sprintf(`study: side
question: Which side limits the cluster?
platform: local
service: {ceph: {osds: 3, size: 2GiB%s}}
workload: {storage: {size: 64MiB, block: 4KiB, read: 0%%, random: 100%%, %s}}
%s
measure: {settle: 0s, warmup: 3s, window: 5s, longest: 12s, blocks: 1, retries: 10}
headline: [iops]
margin: 100%%
`, o.service, o.load, o.more)
	if o.named != nil {
		text += "goal: {most: iops}\n"
	} else {
		text = strings.Replace(text, "blocks: 1", "blocks: 6", 1)
	}
	return text
}

// plantIn finds the OSDs of a study, and makes the limit.
func (o side) plantIn(ctx context.Context, s *scene.Scene, results string) error {
	if o.plant == nil {
		return nil
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		files, _ := filepath.Glob(filepath.Join(results, "scratch", "service", "ceph", "osd.*.pid"))
		var pids []string
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				pids = append(pids, strings.TrimSpace(string(text)))
			}
		}
		if len(pids) == 3 {
			return o.plant(s, pids)
		}
		select {
		case <-ctx.Done():
			return errors.New("the OSDs never ran")
		case <-tick.C:
		}
	}
}
