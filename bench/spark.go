package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
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
	f.IntVar(&s.turns, "turns", 3, "turns of plimsoll and of spark-submit")
	f.IntVar(&s.dropped, "dropped", 6, "trainings that do not count at the begin of a turn, while Java compiles")
	f.IntVar(&s.kept, "kept", 10, "trainings of a turn that count")
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

// run holds the time of a training by plimsoll against the same script started by spark-submit, in turns on the same
// cluster.
func (s submission) run() ([]result, error) {
	ctx := context.Background()
	p, err := local.Kind().Open(ctx, nil, 1)
	if err != nil {
		return nil, err
	}
	defer p.Close() //nolint:errcheck // the results are there
	l, err := made("sparkml", parameter.Settings{"rows": strconv.Itoa(s.rows), "partitions": "8", "steady": "1%", "discards": strconv.Itoa(s.dropped)})
	if err != nil {
		return nil, err
	}
	var ours, theirs, ratios []float64
	c := contest{service: "spark", protocol: "spark", settings: parameter.Settings{"workers": "2"}}
	err = c.serve(ctx, func(env workload.Env, _ load.Endpoint) error {
		env.Machine = p.Machine()
		if err := l.Prepare(ctx, env); err != nil {
			return err
		}
		for turn := range s.turns {
			mean, discarded, trainings := 0., 0, []float64(nil)
			sides := []func() error{
				func() (err error) { mean, discarded, err = s.trained(ctx, env, l); return err },
				func() (err error) { trainings, err = s.submitted(ctx, env, l); return err },
			}
			if turn%2 == 1 { // so that neither is always the later
				slices.Reverse(sides)
			}
			for _, side := range sides {
				if err := side(); err != nil {
					return err
				}
			}
			ours, theirs = append(ours, mean), append(theirs, measure.Mean(trainings[discarded:][:s.kept]))
			ratios = append(ratios, ours[turn]/theirs[turn])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(ratios)
	return []result{{fmt.Sprintf("k-means of %d x 20 on 2 workers: time of a training; ratios of %d turns %.3g to %.3g", s.rows, s.turns, ratios[0], ratios[len(ratios)-1]), measured.Middle(ours), "spark-submit", measured.Middle(theirs), "s"}}, nil
}

// trained is the mean time of a training by plimsoll, after those that it discarded.
func (s submission) trained(ctx context.Context, env workload.Env, l workload.Load) (mean float64, discarded int, err error) {
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) == s.kept })
	err = l.Run(ctx, env, load.Stage{Length: time.Hour, Interval: time.Second, Seed: 1}, out)
	return out.Values()["train.time"], int(out.Values()["discarded"]), err
}

// submitted are the times of trainings by spark-submit.
func (s submission) submitted(ctx context.Context, env workload.Env, l workload.Load) ([]float64, error) {
	argv, err := sparkml.Submission(ctx, env, l, s.dropped+s.kept)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var told bytes.Buffer
	cmd.Dir, cmd.Stderr = env.Dir, &told
	printed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("spark-submit: %w: %s", err, told.Bytes()[max(0, told.Len()-2000):])
	}
	times := sparkml.Trainings(printed)
	if len(times) != s.dropped+s.kept {
		return nil, fmt.Errorf("spark-submit trained %d times", len(times))
	}
	return times, nil
}
