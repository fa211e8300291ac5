package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/sparkml"
)

const (
	sparkTurns   = 3 // of each
	sparkDropped = 6 // trainings, while Java compiles
	sparkKept    = 10
)

// trainings holds the time of a training by plimsoll against the same script started by spark-submit, in turns on the same
// cluster.
func trainings() ([]result, error) {
	ctx := context.Background()
	p, err := local.Kind().Open(ctx, nil, 1)
	if err != nil {
		return nil, err
	}
	defer p.Close() //nolint:errcheck // the results are there
	// None are steady to 1 %, so that the same number is discarded.
	l, err := made("sparkml", parameter.Settings{"rows": "400000", "partitions": "8", "steady": "1%", "discards": fmt.Sprint(sparkDropped)})
	if err != nil {
		return nil, err
	}
	var ours, theirs []float64
	c := contest{service: "spark", protocol: "spark", settings: parameter.Settings{"workers": "2"}}
	err = c.serve(ctx, func(env workload.Env, _ load.Endpoint) error {
		env.Machine = p.Machine()
		if err := l.Prepare(ctx, env); err != nil {
			return err
		}
		for range sparkTurns {
			out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) == sparkKept })
			if err := l.Run(ctx, env, load.Stage{Length: time.Hour, Interval: time.Second, Seed: 1}, out); err != nil {
				return err
			}
			ours = append(ours, out.Values()["train.time"])
			t, err := submitted(ctx, env, l)
			if err != nil {
				return err
			}
			theirs = append(theirs, t)
		}
		return nil
	})
	return []result{{"k-means of 400,000 x 20 on 2 workers: time of a training", measured.Middle(ours), "spark-submit", measured.Middle(theirs), "s"}}, err
}

// submitted is the mean time of a training by spark-submit.
func submitted(ctx context.Context, env workload.Env, l workload.Load) (float64, error) {
	argv, err := sparkml.Submission(ctx, env, l, sparkDropped+sparkKept)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stderr = env.Dir, os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("spark-submit: %w", err)
	}
	times := sparkml.Trainings(printed)
	if len(times) != sparkDropped+sparkKept {
		return 0, fmt.Errorf("spark-submit trained %d times", len(times))
	}
	return measure.Mean(times[sparkDropped:]), nil
}
