package sparkml

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"slices"

	"plimsoll/internal/spark"
	"plimsoll/internal/workload"
)

// Submission is the command by which spark-submit starts the driver with what a load was prepared for. The driver reads
// its requests, "train" and "end", one per line, from a file or a named pipe. It is a peer for benchmarks.
func Submission(ctx context.Context, env workload.Env, l workload.Load, requests string) ([]string, error) {
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
	return slices.Concat(argv[:program], submit, argv[program+1:], []string{requests}), nil
}

// Trained is the time of a training with its test, in seconds, if a line that a driver printed tells one.
func Trained(line []byte) (took float64, ok bool) {
	at := bytes.IndexByte(line, mark)
	var a answer
	if at < 0 || json.Unmarshal(line[at+1:], &a) != nil || a.Trained == nil {
		return 0, false
	}
	return a.Trained.Train + a.Trained.Test, true
}
