package nbd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// pass is a no-op filter, to measure the overhead of filtering.
type pass struct{}

// Filter does nothing.
func (pass) Filter(context.Context, *Request) error { return nil }

// Waits is false.
func (pass) Waits() bool { return false }

// delay adds a delay to each request.
type delay time.Duration

// Filter waits.
func (d delay) Filter(ctx context.Context, _ *Request) error { return wait(ctx, time.Duration(d)) }

// Waits is true.
func (delay) Waits() bool { return true }

// wait waits; it returns an error if ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return syscall.ESHUTDOWN
	}
}

// stats counts requests and their bytes.
type stats struct {
	requests, bytes [Zero + 1]atomic.Uint64
}

// Count is the number of requests of one operation.
type Count struct {
	Operation string `json:"operation"`
	Requests  uint64 `json:"requests"`
	Bytes     uint64 `json:"bytes"`
}

// Filter counts.
func (s *stats) Filter(_ context.Context, r *Request) error {
	if int(r.Operation) < len(s.requests) {
		s.requests[r.Operation].Add(1)
		s.bytes[r.Operation].Add(uint64(r.Length))
	}
	return nil
}

// Waits is false.
func (s *stats) Waits() bool { return false }

// Counts lists the counts so far.
func (s *stats) Counts() (all []Count) {
	for _, o := range []Operation{Read, Write, Flush, Trim, Zero} {
		all = append(all, Count{o.String(), s.requests[o].Load(), s.bytes[o].Load()})
	}
	return all
}

// fail fails each nth request, for tests of clients.
type fail struct {
	Every uint64
	Error error
	seen  atomic.Uint64
}

// Filter fails each nth request.
func (f *fail) Filter(_ context.Context, _ *Request) error {
	if f.seen.Add(1)%f.Every == 0 {
		return f.Error
	}
	return nil
}

// Waits is false.
func (f *fail) Waits() bool { return false }

// ParseFilter makes a filter from its text: null, delay:1ms, stats, or fail:100, which fails each 100th request with EIO.
func ParseFilter(text string) (Filter, error) {
	kind, argument, given := strings.Cut(text, ":")
	switch {
	case kind == "null" && !given:
		return pass{}, nil
	case kind == "stats" && !given:
		return &stats{}, nil
	case kind == "delay":
		if d, err := time.ParseDuration(argument); err == nil && d >= 0 && d <= time.Minute {
			return delay(d), nil
		}
		return nil, fmt.Errorf("I/O filter %q: a delay is a time up to a minute, as in delay:1ms", text)
	case kind == "fail":
		if n, err := strconv.ParseUint(argument, 10, 32); err == nil && n > 0 {
			return &fail{Every: n, Error: syscall.EIO}, nil
		}
		return nil, fmt.Errorf("I/O filter %q: must be one failure in N requests, as in fail:100", text)
	}
	return nil, fmt.Errorf("unknown I/O filter %q: must be null, stats, delay:TIME, fail:NUMBER or daemon:FILTER", text)
}
