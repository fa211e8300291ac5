package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/sparkml"
)

// submission is what plimsoll and spark-submit train, and how often.
type submission struct {
	rows, turns, dropped, kept int
}

// submitting reads flags, which are for the benchmark where its name stands before them.
func submitting() (s submission, err error) {
	f := flag.NewFlagSet("spark", flag.ContinueOnError)
	f.IntVar(&s.rows, "rows", 400_000, "rows of the data")
	f.IntVar(&s.turns, "turns", 3, "turns, each with new drivers and clusters")
	f.IntVar(&s.dropped, "dropped", 10, "trainings of each driver that do not count at the begin of a turn, while Java compiles")
	f.IntVar(&s.kept, "kept", 20, "trainings of each driver in a turn that count")
	if len(os.Args) < 3 || os.Args[1] != "spark" || !strings.HasPrefix(os.Args[2], "-") {
		return s, nil
	}
	if err := f.Parse(os.Args[2:]); err != nil {
		return s, err
	}
	os.Args = os.Args[:2]
	if f.NArg() > 0 || s.rows < 1 || s.turns < 1 || s.dropped < 0 || s.kept < 1 {
		return s, errors.New("rows, turns and kept are at least 1, dropped is at least 0, and nothing stands after them")
	}
	return s, nil
}

// run holds the time of a training, with its test, by plimsoll against the same script started by spark-submit. Each has
// a cluster of its own, both equal, and they train alternately.
func (s submission) run() ([]result, error) {
	var all contrast
	for turn := range s.turns {
		one, err := s.turn(context.Background(), turn%2 == 1)
		if err != nil {
			return nil, err
		}
		all.add(one)
		fmt.Fprintf(os.Stderr, "turn %d of %d: plimsoll %.4g s, spark-submit %.4g s, ratio %.4g +- %.2g\n", turn+1, s.turns, measured.Middle(one.ours), measured.Middle(one.theirs), one.ratio(), one.deviation())
	}
	slices.Sort(all.turns)
	what := fmt.Sprintf("k-means of %d x 20 on 2 workers: time of a training; ratio %.4g, of %d turns %.4g to %.4g", s.rows, all.ratio(), s.turns, all.turns[0], all.turns[s.turns-1])
	return []result{{what, measured.Middle(all.ours), "spark-submit", measured.Middle(all.theirs), "s"}}, nil
}

// contrast are times of trainings in seconds, the two at an index one after the other.
type contrast struct {
	ours, theirs []float64
	turns        []float64 // ratios
}

func (c *contrast) add(turn contrast) {
	c.ours, c.theirs = append(c.ours, turn.ours...), append(c.theirs, turn.theirs...)
	c.turns = append(c.turns, turn.ratio())
}

// ratio is the geometric mean of the ratios of pairs.
func (c *contrast) ratio() float64 {
	sum := 0.
	for i := range c.ours {
		sum += math.Log(c.ours[i] / c.theirs[i])
	}
	return math.Exp(sum / float64(len(c.ours)))
}

// deviation is the standard error of the ratio.
func (c *contrast) deviation() float64 {
	sum, mean := 0., math.Log(c.ratio())
	for i := range c.ours {
		sum += math.Pow(math.Log(c.ours[i]/c.theirs[i])-mean, 2)
	}
	n := float64(len(c.ours))
	return c.ratio() * math.Sqrt(sum/(n-1)/n)
}

// turn has both train on new clusters. The clusters start in either order, so that neither side always has the later.
func (s submission) turn(ctx context.Context, swapped bool) (both contrast, err error) {
	l, err := made("sparkml", parameter.Settings{"rows": strconv.Itoa(s.rows), "partitions": "8", "discards": "0"})
	if err != nil {
		return both, err
	}
	c := contest{service: "spark", protocol: "spark", settings: parameter.Settings{"workers": "2"}}
	err = c.serve(ctx, func(first workload.Env, _ load.Endpoint) error {
		return c.serve(ctx, func(second workload.Env, _ load.Endpoint) error {
			if swapped {
				first, second = second, first
			}
			both, err = s.alternate(ctx, l, first, second)
			return err
		})
	})
	return both, err
}

// alternate has plimsoll and spark-submit train one after the other, by their drivers.
func (s submission) alternate(ctx context.Context, l workload.Load, own, other workload.Env) (both contrast, err error) {
	p, err := local.Kind().Open(ctx, nil, 1)
	if err != nil {
		return both, err
	}
	defer p.Close()                                                           //nolint:errcheck // the results are there
	own.Machine, other.Machine, other.Dir = p.Machine(), p.Machine(), own.Dir // what one prepares serves both
	if err := l.Prepare(ctx, own); err != nil {
		return both, err
	}
	peer, err := submit(ctx, other, l)
	if err != nil {
		return both, err
	}
	defer peer.end()
	if _, err := peer.train(); err != nil { // it is there, and waits
		return both, err
	}
	var failure error
	out := measure.NewRecorder(func(r *measure.Recorder) bool {
		took, err := peer.train()
		failure = errors.Join(failure, err)
		n := len(r.Intervals())
		if n > s.dropped {
			both.ours, both.theirs = append(both.ours, r.Intervals()[n-1].Samples[0].Total.Seconds()), append(both.theirs, took)
		}
		return err != nil || n == s.dropped+s.kept
	})
	err = l.Run(ctx, own, load.Stage{Length: 10 * time.Hour, Interval: time.Second, Seed: 1}, out)
	return both, errors.Join(err, failure)
}

// submitted is a driver that spark-submit started.
type submitted struct {
	command  *exec.Cmd
	requests *os.File
	printed  *bufio.Scanner
	told     bytes.Buffer
}

func submit(ctx context.Context, env workload.Env, l workload.Load) (*submitted, error) {
	pipe := filepath.Join(env.Dir, "requests")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return nil, err
	}
	argv, err := sparkml.Submission(ctx, env, l, pipe)
	if err != nil {
		return nil, err
	}
	d := &submitted{command: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	if d.requests, err = os.OpenFile(pipe, os.O_RDWR, 0); err != nil { // for reading too: nobody waits for the other
		return nil, err
	}
	d.command.Dir, d.command.Stderr = env.Dir, &d.told
	printed, err := d.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.printed = bufio.NewScanner(printed)
	return d, d.command.Start()
}

// train has the driver train once, and returns the time of it with its test.
func (d *submitted) train() (float64, error) {
	if _, err := d.requests.WriteString("train\n"); err != nil {
		return 0, err
	}
	for d.printed.Scan() {
		if took, ok := sparkml.Trained(d.printed.Bytes()); ok {
			return took, nil
		}
	}
	told := d.told.Bytes()
	return 0, fmt.Errorf("spark-submit ended: %s", told[max(0, len(told)-2000):])
}

func (d *submitted) end() {
	_, _ = d.requests.WriteString("end\n")
	_ = d.requests.Close()
	for d.printed.Scan() { //nolint:revive // until it has ended
	}
	_ = d.command.Wait()
}
