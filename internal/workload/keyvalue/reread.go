package keyvalue

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/workload"
)

// Limits of reads after a load.
const (
	mostReread      = 20_000
	mostRereadBytes = 64 << 20
)

// reread reads keys after the load that it wrote, evenly spread over all of these, so that
// a lost overwrite is found which no read of the load met. What it finds is added to the
// sum; a store that does not answer within the time is not judged by it.
func (k *keyvalue) reread(ctx context.Context, env workload.Env, v *versions, sum *tally) error {
	keys := v.written(min(mostReread, max(1, int(mostRereadBytes/meanSize(k.bands)))))
	if len(keys) == 0 {
		return nil
	}
	at, err := k.target(env)
	if err != nil {
		return err
	}
	if err := k.await(ctx, env, at); err != nil {
		return err
	}
	s := &sweeper{row: row{to: len(keys), step: 1}, verb: read, keys: keys}
	t := newTalk(k.grammar(), newDataset(k.bands, env.Seed), s, batchCount)
	t.versions = v
	err = s.run(ctx, env, at, t)
	t.tally.deepest = 0 // it is not of the load
	sum.reread = t.tally.reads + t.tally.wrong
	sum.add(t.tally)
	if err != nil {
		return fmt.Errorf("read %d keys again: %w", len(keys), err)
	}
	return nil
}

// await waits until a store answers that is being started again, in proportion to how long
// an answer may take.
func (k *keyvalue) await(ctx context.Context, env workload.Env, at load.Endpoint) error {
	for over := time.Now().Add(20 * time.Duration(k.Timeout)); ; {
		c, err := k.call(ctx, env)
		if err == nil {
			c.close()
			return nil
		}
		if !gone(err) || time.Now().After(over) {
			return fmt.Errorf("reread keys at %s: %w", at.Address, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// written are keys with an acknowledged write, up to a limit, evenly spread.
func (v *versions) written(most int) (keys []int64) {
	all := 0
	for i := range v.keys {
		if v.keys[i].floor.Load() != 0 {
			all++
		}
	}
	step, n := max(1, (all+most-1)/most), 0
	for i := range v.keys {
		if v.keys[i].floor.Load() == 0 {
			continue
		}
		if n%step == 0 {
			keys = append(keys, int64(i)<<v.shift)
		}
		n++
	}
	return keys
}
