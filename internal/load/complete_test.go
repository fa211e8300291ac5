package load

import (
	"context"
	"crypto/tls"
	"math"
	"strings"
	"testing"
	"time"
)

func nobody(context.Context, int) (Caller, error) { return nil, nil }

// sound is a job that every loop can run.
func sound() Job {
	return Job{Stage: Stage{Length: time.Second, Interval: time.Second}, Network: "tcp", Address: "127.0.0.1:1"}
}

func TestJobsAreCompleted(t *testing.T) {
	for _, c := range []struct {
		name                         string
		change                       func(*Job)
		connections, window, threads int
		rate                         float64
	}{
		{"the zero value", func(*Job) {}, 1, 1, 1, 0},
		{"no thread is without a connection", func(j *Job) { j.Connections, j.Threads = 3, 8 }, 3, 1, 3, 0},
		{"each address gets as much", func(j *Job) {
			j.Connections, j.Arrivals.Rate, j.More = 4, 100, []string{"127.0.0.1:2", "127.0.0.1:3"}
		}, 12, 1, 1, 300},
		{"what is there stays", func(j *Job) { j.Connections, j.Window, j.Threads = 4, 16, 2 }, 4, 16, 2, 0},
	} {
		j := sound()
		c.change(&j)
		got, err := j.Complete()
		if err != nil || got.Connections != c.connections || got.Window != c.window || got.Threads != c.threads || got.Arrivals.Rate != c.rate || got.Timeout != defaultTimeout {
			t.Errorf("%s: %d connections, window %d, %d threads, %g/s, timeout %s: %v", c.name, got.Connections, got.Window, got.Threads, got.Arrivals.Rate, got.Timeout, err)
		}
	}
}

func TestJobsThatNoLoopCanRun(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"a stage needs a length":                        func(j *Job) { j.Stage.Length = 0 },
		"and an interval":                               func(j *Job) { j.Stage.Interval = -1 },
		"only one operation in flight":                  func(j *Job) { j.Fresh, j.Window = true, 2 },
		"tick and max_lag":                              func(j *Job) { j.Tick = -1 },
		"max_lag must not be negative":                  func(j *Job) { j.MaxLag = -1 },
		"uses one address":                              func(j *Job) { j.More, j.Caller = []string{"127.0.0.1:2"}, nobody },
		"several servers cannot have one server name":   func(j *Job) { j.More, j.TLS = []string{"127.0.0.1:2"}, &tls.Config{ServerName: "a"} },
		`unknown network "ip"`:                          func(j *Job) { j.Network = "ip" },
		"a think time of -1s is negative":               func(j *Job) { j.Think.Mean = -time.Second },
		"a rate of NaN/s is not between":                func(j *Job) { j.Arrivals.Rate = math.NaN() },
		"shape requires a rate":                         func(j *Job) { j.Arrivals.Poisson = true },
		"the times of a trace must be ascending from 0": func(j *Job) { j.Arrivals.Trace = []time.Duration{2, 1} },
		"rate and think are mutually exclusive": func(j *Job) {
			j.Arrivals.Rate, j.Think.Mean = 10, time.Second
		},
	} {
		j := sound()
		change(&j)
		if _, err := j.Complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func TestShards(t *testing.T) {
	for _, c := range []struct {
		shard Shard
		good  bool
	}{
		{Shard{}, true}, {Shard{0, 1}, true}, {Shard{2, 3}, true},
		{Shard{1, 0}, false}, {Shard{3, 3}, false}, {Shard{-1, 3}, false}, {Shard{0, -1}, false},
	} {
		if err := c.shard.Validate(); (err == nil) != c.good {
			t.Errorf("%+v: %v", c.shard, err)
		}
		// A shard that is none has no operations, whatever its schedule.
		for _, a := range []Arrivals{{Rate: 100}, {Rate: 100, Poisson: true}, {Trace: []time.Duration{1, 2, 3, 4}}} {
			if due := all(a.Schedule(1, time.Second, c.shard)); (len(due) > 0) != c.good {
				t.Errorf("%+v: %d operations are due", c.shard, len(due))
			}
		}
	}
}
