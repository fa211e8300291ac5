package keyvalue

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// mixture chooses operations at random.
type mixture struct {
	source rand.PCG
	law    law
	read   float64 // share of reads
}

func (m *mixture) choose() (int64, verb) {
	v := write
	if unit(&m.source) < m.read {
		v = read
	}
	return m.law.draw(&m.source), v
}

// Run talks to the store until stage.Length or until the recorder has enough.
func (k *keyvalue) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	was, err := k.look(ctx, env)
	if err != nil {
		return err
	}
	at, err := k.target(env)
	if err != nil {
		return err
	}
	l := &ledger{versions: newVersions(k.Keys, k.tracked(), k.Fill, rand.Uint32())}
	job, err := k.job(at, env.Seed, stage, l)
	if err != nil {
		return err
	}
	if err := socket.Run(ctx, job, out); err != nil {
		return err
	}
	var sum tally
	for _, t := range l.Sheets() {
		sum.add(t)
	}
	k.conclude(env, &sum, out)
	out.Check(k.verify(ctx, env, l.versions, &sum))
	out.Observe("keyvalue.connections", strconv.Itoa(min(l.Made(), k.Connections)))
	k.observe(&sum, was, out)
	return nil
}

// ledger is the state shared by the connections of a load.
type ledger struct {
	load.Ledger[tally]
	versions *versions
}

// tracked is of how many keys the versions are kept at most.
func (k *keyvalue) tracked() int {
	if k.Pipeline > 1 {
		return mostTrackedPipelined
	}
	return mostTracked
}

// look reads the marker of the data in the store.
func (k *keyvalue) look(ctx context.Context, env workload.Env) (marker, error) {
	c, err := k.call(ctx, env)
	if err != nil {
		return marker{}, err
	}
	defer c.close()
	return c.marked()
}

// job is the load for the load core.
func (k *keyvalue) job(at load.Endpoint, seed uint64, stage load.Stage, l *ledger) (load.Job, error) {
	data, keys := newDataset(k.bands, seed), k.law(seed)
	classes := [3]int{read: 0, write: len(k.classes()) - 1}
	return k.offer.Traced(load.Job{
		Stage: stage, Network: at.Network, Address: at.Address,
		Connections: k.Connections, Window: k.Pipeline, Classes: k.classes(),
		Dialogue: func(number int) load.Dialogue {
			m := &mixture{source: *rand.NewPCG(stage.Seed, uint64(number)^0x6b657976616c7565), law: keys, read: float64(k.Read)}
			t := newTalk(k.grammar(), data, m, k.Pipeline)
			t.classes, t.tally, t.versions = classes, l.Sheet(), l.versions
			return t
		},
	})
}

// conclude records the results of the responses.
func (k *keyvalue) conclude(env workload.Env, sum *tally, out *measure.Recorder) {
	if sum.refused > 0 && env.Log != nil {
		env.Log("the store refused %d operations, the first with: %s", sum.refused, sum.why)
	}
	if all := sum.reads + sum.wrong; all > 0 {
		misses := float64(sum.misses) / float64(all)
		out.Value("wrong", float64(sum.wrong)/float64(all))
		out.Value("misses", misses)
		out.Check(measure.Judged("misses", misses <= float64(k.Misses), fmt.Sprintf("%.3g %% of %d reads found nothing; at most %.3g %% may (keyvalue.misses)", 100*misses, all, 100*float64(k.Misses))))
	}
}

// verify reads written keys again, and judges all reads.
func (k *keyvalue) verify(ctx context.Context, env workload.Env, v *versions, sum *tally) measure.Check {
	err := ctx.Err()
	if err == nil {
		err = k.reread(ctx, env, v, sum)
	}
	c := k.held(ctx, sum, env)
	if err != nil {
		if c.Detail += "; " + err.Error(); c.State == measure.Pass {
			c.State = measure.Unknown
		}
	}
	return c
}

// observe records the effective settings of the load and of the store.
func (k *keyvalue) observe(sum *tally, was marker, out *measure.Recorder) {
	out.Observe("keyvalue.protocol", k.Protocol)
	out.Observe("keyvalue.read", k.mixed(out).String())
	if k.offer.Saturates() {
		out.Observe("keyvalue.pipeline", strconv.Itoa(sum.deepest))
	}
	if was.Keys > 0 {
		out.Observe("keyvalue.keys", strconv.Itoa(was.Keys))
		out.Observe("keyvalue.value", was.Value)
		out.Observe("keyvalue.fill", strconv.FormatBool(was.Whole))
	}
}

// mixed is the share of reads among the operations: the configured one, if chance explains
// the difference.
func (k *keyvalue) mixed(out *measure.Recorder) parameter.Share {
	var reads, all int64
	for _, in := range out.Intervals() {
		for _, s := range in.Samples {
			n := s.Operations + s.Errors
			all += n
			if s.Class == readClass {
				reads += n
			}
		}
	}
	asked, got := float64(k.Read), float64(reads)/float64(max(1, all))
	if math.Abs(got-asked) <= measure.ChanceOfShare(asked, all) {
		return k.Read
	}
	return parameter.Share(got)
}
