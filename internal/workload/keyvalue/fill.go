package keyvalue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// marker is a note in the store about plimsoll's data in it. It is lost with the data.
type marker struct {
	Whole bool   `json:"whole"` // all keys were seen after they were written
	Keys  int    `json:"keys"`  // there may be keys below this number
	Value string `json:"value"` // the setting
	Seed  uint64 `json:"seed"`
}

const markerKey = keyPrefix + "filled"

func (c *console) marked() (m marker, err error) {
	text, err := c.ask(read, markerKey, nil)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read %s: %w", markerKey, err)
	}
	m.Keys = max(0, m.Keys)
	return m, nil
}

func (c *console) mark(m marker) error {
	text, err := json.Marshal(m)
	if err == nil {
		_, err = c.ask(write, markerKey, text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", markerKey, err)
	}
	return nil
}

// Prepare has every key in the store, each with its value, or none.
func (k *keyvalue) Prepare(ctx context.Context, env workload.Env) error {
	c, err := k.call(ctx, env)
	if err != nil {
		return err
	}
	defer c.close()
	f := &filler{load: k, console: c, env: env}
	if f.at, err = k.target(env); err != nil {
		return err
	}
	was, err := c.marked()
	if err == nil && !k.Fill {
		err = f.empty(ctx, was)
	} else if err == nil {
		err = f.fill(ctx, was)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("fill the store at %s: %w", c.address, err)
	}
	return nil
}

// Clean removes the keys. A store that is gone holds none.
func (k *keyvalue) Clean(ctx context.Context, env workload.Env) error {
	if env.Target == nil {
		return nil
	}
	if _, err := env.Target(k.Protocol); err != nil {
		return nil //nolint:nilerr // it does not run
	}
	c, err := k.call(ctx, env)
	if gone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the keys %s*: %w", keyPrefix, err)
	}
	defer c.close()
	f := &filler{load: k, console: c, env: env}
	if f.at, err = k.target(env); err != nil {
		return err
	}
	was, err := c.marked()
	if err == nil {
		err = f.remove(ctx, was)
	}
	if err != nil {
		return fmt.Errorf("remove the keys %s* from the store at %s: %w", keyPrefix, c.address, err)
	}
	return nil
}

// filler changes the data in a store.
type filler struct {
	load    *keyvalue
	console *console
	at      load.Endpoint
	env     workload.Env
}

// fill writes every key and then reads every key, unless that was done before and a
// sample of them is still there.
func (f *filler) fill(ctx context.Context, was marker) error {
	want := marker{Whole: true, Keys: f.load.Keys, Value: f.load.Value, Seed: f.env.Seed}
	if was == want {
		sample := row{to: f.load.Keys, step: max(1, f.load.Keys/500)}
		if there, err := f.sweep(ctx, read, sample); err == nil && f.whole(there) == nil {
			return nil
		}
	}
	begun := want
	begun.Whole, begun.Keys = false, max(f.load.Keys, was.Keys)
	if err := f.console.mark(begun); err != nil {
		return err
	}
	if _, err := f.sweep(ctx, remove, row{from: f.load.Keys, to: was.Keys, step: 1}); err != nil {
		return err
	}
	all := row{to: f.load.Keys, step: 1}
	wrote, err := f.sweep(ctx, write, all)
	if err != nil {
		return err
	}
	if wrote.refused > 0 {
		return fmt.Errorf("it refused %d of %d values: %s", wrote.refused, f.load.Keys, wrote.why)
	}
	there, err := f.sweep(ctx, read, all)
	if err != nil {
		return err
	}
	if err := f.whole(there); err != nil {
		return err
	}
	return f.console.mark(want)
}

// whole reports whether enough of the keys were found, with the written values.
func (f *filler) whole(t tally) error {
	switch all := t.reads + t.wrong + t.refused; {
	case t.refused > 0:
		return fmt.Errorf("it refused %d of %d reads: %s", t.refused, all, t.why)
	case t.wrong > 0:
		return fmt.Errorf("%d of %d keys have other values than written: does another client write keys %s*?", t.wrong, all, keyPrefix)
	case float64(t.misses) > float64(f.load.Misses)*float64(all):
		size := parameter.Bytes(math.Ceil(meanSize(f.load.bands) * float64(f.load.Keys)))
		return fmt.Errorf("%d of %d keys are gone after they were written: give the store more memory than the %s of the values, lower keyvalue.keys, or allow keyvalue.misses", t.misses, all, size)
	}
	return nil
}

// empty removes every key, and notes that the load will write some.
func (f *filler) empty(ctx context.Context, was marker) error {
	if err := f.remove(ctx, was); err != nil {
		return err
	}
	return f.console.mark(marker{Keys: f.load.Keys, Value: f.load.Value, Seed: f.env.Seed})
}

// remove removes what a marker tells of, or the keys of the load where the marker is
// lost and some of them are there: a cache may forget any key first.
func (f *filler) remove(ctx context.Context, was marker) error {
	if was == (marker{}) {
		there, err := f.sweep(ctx, read, row{to: f.load.Keys, step: max(1, f.load.Keys/500)})
		if err != nil || there.reads+there.wrong == there.misses {
			return err
		}
		was.Keys = f.load.Keys
	}
	removed, err := f.sweep(ctx, remove, row{to: was.Keys, step: 1})
	if err != nil {
		return err
	}
	if removed.refused > 0 {
		return fmt.Errorf("it refused to remove %d of %d keys: %s", removed.refused, was.Keys, removed.why)
	}
	_, err = f.console.ask(remove, markerKey, nil)
	return err
}

// row is a stretch of keys.
type row struct{ from, to, step int }

func (r row) length() int { return max(0, (r.to-r.from+r.step-1)/r.step) }

// Sweeps go over a few connections, a batch at a time.
const (
	sweepers   = 4
	batchCount = 128
	batchBytes = 512 << 10
)

// sweep does the same with every key of a row, as fast as the store takes it.
func (f *filler) sweep(ctx context.Context, v verb, r row) (sum tally, err error) {
	type swept struct {
		tally
		err error
	}
	workers := min(sweepers, (r.length()+batchCount-1)/batchCount)
	ends := make(chan swept, workers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	data := newDataset(f.load.bands, f.env.Seed)
	for w := range workers {
		s := &sweeper{row: row{from: r.from + w*r.step, to: r.to, step: workers * r.step}, verb: v}
		go func() {
			t := newTalk(f.load.grammar(), data, s, batchCount)
			err := s.run(ctx, f.env, f.at, t)
			ends <- swept{*t.tally, err}
		}()
	}
	for range workers {
		e := <-ends
		sum.add(&e.tally)
		if e.err != nil && err == nil {
			err = e.err
			cancel()
		}
	}
	return sum, err
}

// sweeper chooses the keys of its row one after the other, or those of a list at the
// places of its row.
type sweeper struct {
	row
	verb verb
	keys []int64
}

func (s *sweeper) choose() (int64, verb) {
	key := int64(s.from)
	if s.keys != nil {
		key = s.keys[s.from]
	}
	s.from += s.step
	return key, s.verb
}

// run sends batches and hears the answers to each before the next.
func (s *sweeper) run(ctx context.Context, env workload.Env, at load.Endpoint, t *talk) error {
	conn, stop, err := dial(ctx, env, at)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // everything was answered, or given up
	defer stop()
	var out []byte
	in := make([]byte, 0, 64<<10)
	for s.from < s.to {
		out = out[:0]
		count := 0
		for ; s.from < s.to && count < batchCount && len(out) < batchBytes; count++ {
			out, _ = t.Request(out, count)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		if _, err := conn.Write(out); err != nil {
			return troubled(err)
		}
		if in, err = hearAll(conn, t, in, count); err != nil {
			return troubled(err)
		}
	}
	return nil
}

// hearAll reads until so many operations are answered. It answers what it read
// beyond them.
func hearAll(conn net.Conn, t *talk, in []byte, count int) ([]byte, error) {
	for {
		at := 0
		for count > 0 {
			a, used, err := t.Answer(in[at:])
			if err != nil {
				return nil, err
			}
			if used == 0 {
				break
			}
			if at += used; a.Slot != load.NoSlot {
				count--
			}
		}
		in = in[:copy(in, in[at:])]
		if count == 0 {
			return in, nil
		}
		n, err := conn.Read(in[len(in):cap(in)])
		in = in[:len(in)+n]
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

func troubled(err error) error {
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return fmt.Errorf("no response within %s: %w", patience, err)
	}
	return err
}
