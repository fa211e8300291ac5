package load

import (
	"runtime"
	"sync"

	"github.com/vmware/govmomi/simulator"
)

// blockLength is the shortest interval of long-term samples, in milliseconds.
const blockLength = 300_000

// mostBlocks is the maximum number of cached means of hosts; one takes some 150 bytes.
const mostBlocks = 200_000

// block is an interval on a host.
type block struct {
	host int32
	at   int64 // in blocks since 1970
}

// blocks caches means of hosts. The past never changes.
type blocks struct {
	m     sync.Mutex
	known map[block]Usage
	from  int64 // of the log, when they were computed
}

// get looks up cached blocks of a host.
func (b *blocks) get(host int32, first, n, from int64) (means []Usage, complete bool) {
	b.m.Lock()
	defer b.m.Unlock()
	if b.known == nil || b.from != from || len(b.known) > mostBlocks {
		b.known, b.from = map[block]Usage{}, from
	}
	means, complete = make([]Usage, n), true
	for k := range means {
		u, is := b.known[block{host, first + int64(k)}]
		means[k], complete = u, complete && is
	}
	return means, complete
}

func (b *blocks) put(host int32, first int64, means []Usage) {
	b.m.Lock()
	defer b.m.Unlock()
	for k, u := range means {
		b.known[block{host, first + int64(k)}] = u
	}
}

// whole reports whether a span consists of past blocks.
func (l *Load) whole(in span) bool {
	return in.step%blockLength == 0 && in.from%blockLength == 0 && in.to <= l.clock.Now().UnixMilli()
}

// means are those of hosts in the blocks of a span, computed on all cores.
func (l *Load) means(ctx *simulator.Context, hosts []int32, in span) map[int32][]Usage {
	out := make(map[int32][]Usage, len(hosts))
	var m sync.Mutex
	var all sync.WaitGroup
	next := make(chan int32)
	for range min(len(hosts), runtime.GOMAXPROCS(0)) {
		own := *ctx // contexts own locks
		all.Go(func() {
			for h := range next {
				u := l.meansOf(&own, h, in)
				m.Lock()
				out[h] = u
				m.Unlock()
			}
		})
	}
	for _, h := range hosts {
		next <- h
	}
	close(next)
	all.Wait()
	return out
}

func (l *Load) meansOf(ctx *simulator.Context, host int32, in span) []Usage {
	first, n := in.from/blockLength, (in.to-in.from)/blockLength
	l.m.Lock()
	ref, from := l.log.hosts.list[host], l.log.from
	l.m.Unlock()
	means, complete := l.blocks.get(host, first, n, from)
	if complete {
		return means
	}
	has, known := l.Capacity(ctx, ref)
	if !known {
		return means
	}
	clear(means)
	l.m.Lock()
	stays := l.log.staysOn(host, in.from, in.to)
	l.m.Unlock()
	l.sweep(&has, stays, func(_ *stay, begin, end int64, u *Usage) {
		spread(means, u, span{begin - in.from, end - in.from, blockLength})
	})
	l.blocks.put(host, first, means)
	return means
}
