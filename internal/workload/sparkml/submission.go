package sparkml

import (
	"context"
	"path"
	"slices"
	"strconv"

	"plimsoll/internal/spark"
	"plimsoll/internal/workload"
)

// Submission is the command by which spark-submit has the driver train so many times, with what a load was prepared for. It
// is a peer for benchmarks.
func Submission(ctx context.Context, env workload.Env, l workload.Load, trainings int) ([]string, error) {
	own := l.(*learning)
	on, err := spark.Find(ctx, env.Machine, own.Home, own.Java)
	if err != nil {
		return nil, err
	}
	at, err := own.site(ctx, env)
	if err != nil {
		return nil, err
	}
	j := own.job(at, env.Seed, folder(env))
	argv, err := j.command(on, path.Join(folder(env), scriptName))
	if err != nil {
		return nil, err
	}
	program := slices.Index(argv, on.Python)
	submit := []string{path.Join(on.Folder, "bin/spark-submit")}
	for name, value := range j.Conf {
		submit = append(submit, "--conf", name+"="+value)
	}
	return slices.Concat(argv[:program], submit, argv[program+1:], []string{strconv.Itoa(trainings)}), nil
}

// Trainings are the times of the trainings that a driver printed, in seconds.
func Trainings(printed []byte) (times []float64) {
	d := &driver{answers: make(chan answer, keptAnswers), gone: make(chan struct{})}
	for len(printed) > 0 {
		end := slices.Index(printed, '\n') + 1
		if end == 0 {
			break
		}
		_, _ = d.Write(printed[:end])
		printed = printed[end:]
		select {
		case a := <-d.answers:
			if a.Trained != nil {
				times = append(times, a.Trained.Train)
			}
		default:
		}
	}
	return times
}
