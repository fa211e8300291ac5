package cqliot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload/cqliot/foreign"
)

// drive runs the load through the Go driver, with a goroutine for each operation in
// flight.
func (c *trialRun) drive(ctx context.Context, job load.Job, out *measure.Recorder) error {
	statements := c.iot.statements()
	nodes := append([]string{job.Address}, job.More...)
	s, err := c.iot.open(foreign.Target{
		Addresses: nodes, User: c.account.User, Password: c.account.Password, TLS: job.TLS,
		Protocol: c.iot.Protocol, Connections: c.iot.Connections, Timeout: time.Duration(c.iot.Timeout),
		Insert: statements[write].Text, Select: statements[read].Text, Write: level(c.iot.WriteConsistency), Read: level(c.iot.ReadConsistency),
	})
	if err != nil {
		return err
	}
	defer s.Close()
	job.Connections, job.Window, job.More, job.TLS = c.iot.Connections*c.iot.InFlight*len(nodes), 1, nil, nil
	job.Arrivals.Rate *= float64(len(nodes))
	classes := [2]int{write: len(job.Classes) - 1}
	job.Dialogue = nil
	job.Caller = func(context.Context, int) (load.Caller, error) {
		return &caller{dealer: newDealer(c.iot, c.readings, c.dispenser, newChart(ring{})), session: s, tally: c.sheet(), classes: classes}, nil
	}
	return routine.Run(ctx, job, out)
}

// caller does one operation after the other through the Go driver.
type caller struct {
	dealer  *cycleQueue
	session foreign.Session
	tally   *tally
	classes [2]int
}

// Call does the next cycle.
func (c *caller) Call(ctx context.Context) (class int, bytes int64, err error) {
	o := c.dealer.draw()
	class = c.classes[o.verb]
	c.tally.all++
	if o.verb == write {
		data := c.dealer.readings.data(o.key.hash)
		err = c.session.Insert(ctx, foreign.Reading{
			Machine: o.key.machine, Sensor: o.key.sensor, Time: c.dealer.readings.time(o.cycle), Value: c.dealer.readings.value(o.key.hash),
			Station: c.dealer.readings.station(o.cycle), Data: data,
		})
		if err == nil {
			c.tally.wrote(o.cycle)
		}
		return class, int64(len(data)), c.noted(ctx, err)
	}
	rows, bytes, err := c.session.Select(ctx, o.key.machine, o.key.sensor)
	if err == nil {
		c.tally.read(rows)
	}
	return class, bytes, c.noted(ctx, err)
}

func (c *caller) noted(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() == nil {
		kind := err.Error()
		var answer interface {
			error
			Code() int
		}
		if errors.As(err, &answer) {
			kind = (&cql.Fault{Code: answer.Code()}).Kind()
		}
		c.tally.faults.note(kind, err.Error())
	}
	return fmt.Errorf("by the Go driver: %w", err)
}

// Close has nothing to do: all callers share a session.
func (c *caller) Close() error { return nil }
