package cqliot

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// sheet is the tally of a new connection.
func (c *trialRun) sheet() *tally {
	t := c.ledger.Sheet()
	t.acknowledged, t.latest = make([]int64, 0, mostKept), make([]int64, 0, lastKept)
	return t
}

func (c *trialRun) sum() (sum tally) {
	for _, t := range c.ledger.Sheets() {
		sum.reads += t.reads
		sum.found += t.found
		sum.readings += t.readings
		sum.elsewhere += t.elsewhere
		sum.all += t.all
		sum.faults.add(t.faults)
		sum.deepest = max(sum.deepest, t.deepest)
		sum.acknowledged = append(append(sum.acknowledged, t.acknowledged...), t.latest...)
	}
	slices.Sort(sum.acknowledged)
	sum.acknowledged = slices.Compact(sum.acknowledged)
	return sum
}

// trialRun is one trial.
type trialRun struct {
	iot       *iot
	ledger    load.Ledger[tally]
	nodes     []cql.Target
	private   bool // plimsoll started them: one that dies does not come back
	account   cql.Account
	readings  *readings
	dispenser *cycleAllocator
	chart     *chart
	dealers   []*cycleQueue
	there     held
}

// Run runs cycles until stage.Length or until the recorder has enough, and then reads some
// of the written rows again.
func (i *iot) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c, err := i.begin(ctx, env)
	if err != nil {
		return err
	}
	if err := c.load(ctx, stage, out); err != nil {
		return err
	}
	return c.conclude(ctx, out, env)
}

// load runs the load itself, and watches the ring meanwhile.
func (c *trialRun) load(ctx context.Context, stage load.Stage, out *measure.Recorder) error {
	if len(c.nodes) > 1 {
		w, err := c.watch(ctx)
		if err != nil {
			return err
		}
		defer w.report(out)
		defer w.end()
	}
	job := c.job(stage)
	if c.iot.Driver != ownDriver {
		return c.drive(ctx, job, out)
	}
	return socket.Run(ctx, job, out)
}

// begin reads the description of the data and the token ring.
func (i *iot) begin(ctx context.Context, env workload.Env) (*trialRun, error) {
	c := &trialRun{iot: i, dispenser: newDispenser(i.Parameters)}
	var err error
	if c.nodes, err = i.places(env); err != nil {
		return nil, err
	}
	at, err := env.Target(protocol)
	if err != nil {
		return nil, err
	}
	c.private = at.Private
	if c.account, err = c.nodes[0].Account(""); err != nil {
		return nil, err
	}
	var tokens []string
	for n, at := range c.nodes {
		session, err := join(ctx, c.nodes, n)
		if err != nil {
			return nil, err
		}
		rows, err := session.Query(ctx, tokensQuery)
		if err == nil && n == 0 {
			c.there, err = hold(ctx, session)
		}
		session.Close()
		if err != nil || len(rows) != 1 {
			return nil, fmt.Errorf("query the tokens of the server at %s: %w", at.Address, err)
		}
		tokens = append(tokens, rows[0][0])
	}
	if c.there.made == "" {
		return nil, errors.New("the keyspace " + keyspace + " is missing or incomplete: it was removed, or its server lost it")
	}
	if i.Mode == sound {
		c.dispenser.first = max(c.dispenser.first, c.there.next)
	}
	r, err := newRing(tokens)
	if err != nil {
		return nil, fmt.Errorf("read the tokens of the nodes: %w", err)
	}
	c.chart = newChart(r)
	if c.readings, err = newReadings(i.Parameters, c.there.base); err != nil {
		return nil, err
	}
	return c, nil
}

const tokensQuery = "SELECT tokens FROM system.local"

// job is the load for the load core.
func (c *trialRun) job(stage load.Stage) load.Job {
	threads := min(c.iot.Threads, c.iot.Connections*len(c.nodes))
	if len(c.nodes) > 1 {
		threads = 1
	}
	for range threads {
		c.dealers = append(c.dealers, newDealer(c.iot, c.readings, c.dispenser, c.chart))
	}
	classes, names := [2]int{}, []string{}
	if c.iot.Reads > 0 {
		names = append(names, readClass)
	}
	if c.iot.Writes > 0 {
		classes[write] = len(names)
		names = append(names, writeClass)
	}
	statements := c.iot.statements()
	job := c.iot.offer.Paced(load.Job{
		Stage: stage, Network: c.nodes[0].Network, Address: c.nodes[0].Address, TLS: c.secure(),
		Connections: c.iot.Connections, Window: c.iot.InFlight, Classes: names,
		Dialogue: func(number int) load.Dialogue {
			return &talk{
				dealer: c.dealers[number%threads], session: cql.NewSession(cql.Version(c.iot.Protocol), c.account, statements, tokensQuery),
				tally: c.sheet(), classes: classes, slots: make([]operation, c.iot.InFlight),
			}
		},
	})
	for _, at := range c.nodes[1:] {
		job.More = append(job.More, at.Address)
	}
	if len(c.nodes) > 1 {
		job.Instead = c.chart.instead
	}
	return job
}

// secure is how the load speaks TLS with the nodes, each of which has its own name; nil
// without TLS.
func (c *trialRun) secure() *tls.Config {
	if c.nodes[0].TLS == nil {
		return nil
	}
	config := c.nodes[0].TLS.Clone()
	config.ServerName = ""
	return config
}

// conclude records the results of the load and the state of the data.
func (c *trialRun) conclude(ctx context.Context, out *measure.Recorder, env workload.Env) error {
	sum := c.sum()
	if text := sum.faults.explain(failedOf(out)); text != "" {
		out.Check(measure.Check{Name: "faults", State: measure.Unknown, Detail: text})
		if env.Log != nil {
			env.Log("%s", text)
		}
	}
	if sum.all > 0 {
		out.Value("elsewhere", float64(sum.elsewhere)/float64(sum.all))
	}
	if sum.reads > 0 {
		found := float64(sum.found) / float64(sum.reads)
		out.Value("found", found)
		out.Value("readings", float64(sum.readings)/float64(sum.reads))
		out.Check(measure.Judged("found", found >= float64(c.iot.Found), fmt.Sprintf("%.4g %% of %d reads found something; at least %s must (cql-iot.found)", 100*found, sum.reads, c.iot.Found)))
	}
	if c.iot.Mode == faithful {
		out.Check(measure.Judged("sensor values", true, fmt.Sprintf("1 in %d is interpolated towards -2^63, as published (cql-iot.mode)", steps-1)))
	}
	if err := c.await(ctx); err != nil {
		return err
	}
	if err := c.observe(ctx, out); err != nil {
		return err
	}
	if len(sum.acknowledged) > 0 && ctx.Err() == nil {
		wrong, why, err := c.verify(ctx, sum.acknowledged)
		if err != nil {
			return err
		}
		out.Check(measure.DataCheck("data", wrong == 0, fmt.Sprintf("%d of %d writes that were acknowledged are not there as they were written%s", wrong, len(sum.acknowledged), why)))
	}
	return c.remember(ctx)
}

// returning is how long nodes are waited for that may be started again, so that what they
// acknowledged can be verified.
const returning = 2 * time.Minute

// await waits until a node answers after the load, where they are not plimsoll's own.
func (c *trialRun) await(ctx context.Context) error {
	for over := time.Now().Add(returning); ; {
		session, err := connect(ctx, c.nodes)
		if err == nil {
			session.Close()
			return nil
		}
		if c.private || ctx.Err() != nil || time.Now().After(over) {
			return fmt.Errorf("verify the written data: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// remember stores the number of the next cycle in the keyspace, so that the next trial
// writes other rows.
func (c *trialRun) remember(ctx context.Context) error {
	if c.iot.Mode != sound {
		return nil
	}
	session, err := connect(ctx, c.nodes)
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err := session.Query(ctx, fmt.Sprintf("UPDATE %s.plimsoll SET next = %d WHERE id = 1", keyspace, c.dispenser.dealt())); err != nil {
		return fmt.Errorf("record the completed cycles: %w", err)
	}
	return nil
}

// verify reads rows again and counts those that are not as they were written.
func (c *trialRun) verify(ctx context.Context, cycles []int64) (wrong int, why string, err error) {
	const whole = "SELECT machine_id, sensor_name, time, sensor_value, station_id, data, writetime(data) FROM " + keyspace + ".iot WHERE machine_id = ? AND sensor_name = ? AND time = ?"
	statements := []cql.Statement{{Text: whole, Parameters: 3, Consistency: c.iot.statements()[read].Consistency}}
	p, err := first(c.nodes, func(at cql.Target) (*cql.Pipe, error) { return cql.DialPipe(ctx, at, statements) })
	if err != nil {
		return 0, "", err
	}
	defer p.Close()
	for part := cycles; len(part) > 0; part = part[min(len(part), batch):] {
		now := part[:min(len(part), batch)]
		for _, cycle := range now {
			p.Add(0, func(b []byte) []byte {
				k := c.readings.key(cycle)
				return cql.AppendLong(k.append(b), c.readings.time(cycle))
			})
		}
		err := p.Exchange(ctx, func(n int, body []byte) error {
			if said := c.differs(now[n], body); said != "" {
				wrong++
				why = fmt.Sprintf(": cycle %d %s", now[n], said)
			}
			return nil
		})
		if err != nil {
			return wrong, why, fmt.Errorf("read the written data again: %w", err)
		}
	}
	return wrong, why, nil
}

// differs is the error in the row of a cycle; empty without one.
func (c *trialRun) differs(cycle int64, body []byte) string {
	rows, err := cql.ReadRows(body)
	if err != nil {
		return err.Error()
	}
	if rows.Left != 1 {
		return fmt.Sprintf("has %d rows", rows.Left)
	}
	want := c.readings.appendReading(nil, c.readings.key(cycle), cycle)
	var got []byte
	for range rows.Columns {
		got = cql.AppendBytes(got, rows.Value())
	}
	if rows.Err() != nil || string(got) != string(want) {
		return "has other values"
	}
	return ""
}

// held is the keyspace's description of itself.
type held struct {
	made       string
	base, next int64
}

// level is a consistency as the Go driver reads it.
func level(name string) string { return strings.ToUpper(name) }
