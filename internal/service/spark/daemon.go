package spark

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	engine "plimsoll/internal/spark"
)

// starter starts the master and the workers.
//
//go:embed start.sh
var starter string

// sink has executors write their counters to files, which outlive them.
const sink = `executor.sink.csv.class=org.apache.spark.metrics.sink.CsvSink
executor.sink.csv.period=2
executor.sink.csv.unit=seconds
executor.sink.csv.directory=%s
`

// beginning is the time limit for the cluster without progress: seconds as a rule, and minutes on a machine that has little CPU
// time left.
const beginning = 10 * time.Minute

func (s Settings) daemon(m platform.Machine, place service.Location, java string) service.Daemon {
	c := cluster{machine: m, at: load.Endpoint{Network: "tcp", Address: place.Address(0), URL: "http://" + place.Address(1)}, workers: s.Workers, dir: place.Dir}
	return service.Daemon{
		Argv: []string{
			"sh", path.Join(place.Dir, "start.sh"), java, place.Dir, place.Host, strconv.Itoa(place.Ports[0]), strconv.Itoa(place.Ports[1]),
			strconv.Itoa(s.Workers), strconv.Itoa(s.Cores), strconv.FormatInt(int64(s.Memory)>>20, 10),
		},
		Files: service.Join(
			service.Files("start.sh", []byte(starter)),
			service.Files("conf/metrics.properties", fmt.Appendf(nil, sink, path.Join(place.Dir, counted))),
		),
		Patience: beginning,
		Ready: func(ctx context.Context) (service.Live, error) {
			if err := c.ready(ctx); err != nil {
				return service.Live{}, err
			}
			return c.live(), nil
		},
	}
}

// cluster is a running cluster. One that is provided has no folder.
type cluster struct {
	machine platform.Machine
	at      load.Endpoint
	workers int
	dir     string
}

func (c cluster) ask(ctx context.Context) (engine.Status, error) {
	return engine.Ask(ctx, through(c.machine), web(c.at))
}

// ready checks that our master answers, and that all workers have registered.
func (c cluster) ready(ctx context.Context) error {
	s, err := c.ask(ctx)
	switch {
	case err != nil:
		return err
	case s.URL != "spark://"+c.at.Address:
		return errors.New("another master answers on its port")
	case len(s.Alive()) != c.workers:
		return fmt.Errorf("%d of %d workers have registered", len(s.Alive()), c.workers)
	}
	return nil
}

func (c cluster) live() service.Live {
	live := service.Live{
		Endpoints: map[string]load.Endpoint{engine.Protocol: c.at},
		Observe: func(ctx context.Context) (map[string]string, error) {
			s, err := c.ask(ctx)
			if err != nil {
				return nil, err
			}
			return observed(s), nil
		},
		Count:     c.count,
		Unsettled: c.unsettled,
	}
	if c.dir != "" {
		live.Trouble = c.trouble
	}
	return live
}

// unsettled reports applications that have not ended.
func (c cluster) unsettled(ctx context.Context) (string, error) {
	s, err := c.ask(ctx)
	if err != nil || len(s.Active) == 0 {
		return "", err
	}
	return fmt.Sprintf("%d applications running", len(s.Active)), nil
}

// trouble reports workers that the master has lost: what is measured then is a smaller cluster.
func (c cluster) trouble(ctx context.Context) error {
	s, err := c.ask(ctx)
	if err != nil {
		return nil // a master that is busy answers late; one that has died is noticed
	}
	if n := len(s.Alive()); n < c.workers {
		return fmt.Errorf("the master has lost %d of %d workers", c.workers-n, c.workers)
	}
	return nil
}
