package keyvalue

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// removals are the store's counts of removed keys since its start.
type removals struct {
	known   bool
	evicted int64 // for lack of memory
	expired int64
	policy  string // of redis
}

func (r removals) all() int64 { return r.evicted + r.expired }

// evictions and expiries are the counters of both protocols that hold them. Those of
// memcached overlap: what they say together is the most that can be.
var (
	evictions = []string{"evicted_keys", "evictions", "slab_reassign_evictions_nomem", "slab_reassign_busy_deletes"}
	expiries  = []string{"expired_keys", "reclaimed", "crawler_reclaimed", "expired_unfetched"}
)

// removed queries the store's counts of removed keys. A store without them is not at fault.
func (c *console) removed() (r removals) {
	line, err := c.line([]byte(c.grammar.removals()), greeting)
	if err != nil {
		return r
	}
	if digits, bulk := strings.CutPrefix(string(line), "$"); bulk {
		size, ok := count([]byte(digits))
		if !ok || size > 1<<20 {
			return r
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(c.in, text); err != nil {
			return r
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			r.take(name, value)
		}
		return r
	}
	for words := strings.Fields(string(line)); len(words) == 3 && words[0] == "STAT"; words = strings.Fields(string(line)) {
		r.take(words[1], words[2])
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return removals{}
		}
	}
	return r
}

// take takes a counter.
func (r *removals) take(name, value string) {
	if name == "maxmemory_policy" {
		r.policy = value
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return
	}
	switch {
	case slices.Contains(evictions, name):
		r.evicted, r.known = r.evicted+n, true
	case slices.Contains(expiries, name):
		r.expired += n
	}
}

// held judges what the reads brought: values of their keys, whole, and not older than what
// was acknowledged; and whether the store accounts for the keys that are not there any more.
func (k *keyvalue) held(ctx context.Context, sum *tally, env workload.Env) measure.Check {
	all := sum.reads + sum.wrong
	c := measure.DataCheck("data", sum.wrong == 0, fmt.Sprintf("%d of %d reads, %d of them after the load, returned a wrong value", sum.wrong, all, sum.reread))
	if all == 0 {
		c.State = measure.Unknown
	}
	if sum.stale > 0 {
		c.Detail += fmt.Sprintf(", %d of them one that an acknowledged write had replaced (lost overwrites)", sum.stale)
	}
	if sum.lost == 0 {
		return c
	}
	var r removals
	if console, err := k.call(ctx, env); err == nil {
		r = console.removed()
		console.close()
	}
	switch {
	case !r.known:
		c.Detail += fmt.Sprintf("; %d keys are missing, and the store does not tell its evictions", sum.lost)
		if c.State == measure.Pass {
			c.State = measure.Unknown
		}
	case sum.lost > r.all():
		c.State = measure.Fail
		c.Detail += fmt.Sprintf("; %d keys are missing, and the store counts only %d evictions and %d expirations since its start", sum.lost, r.evicted, r.expired)
	default:
		c.Detail += fmt.Sprintf("; %d keys are missing, which the %d evictions and %d expirations of the store account for", sum.lost, r.evicted, r.expired)
	}
	if r.policy != "" {
		c.Detail += " (maxmemory-policy " + r.policy + ")"
	}
	return c
}
