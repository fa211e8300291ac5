package machines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// followStart bounds the wait for the first reading of another machine.
const followStart = 5 * time.Second

// host follows the state of a machine, once for all sources: in this process if the machine is
// this host, by a process of plimsoll on the machine, or else file by file.
type host struct {
	name     string
	machine  platform.Machine
	members  []string // see hoststat.Reader
	flattens []openFlatten
	clock    *trace.Clock
	served   bool
	guests   []int // see trace.Detail

	shared *following
	owner  bool // of the following
}

type openFlatten struct {
	name     string
	needs    []string
	flatten  collect.Flatten
	counters []collect.Counter
}

// following is what is known of a machine; several members of a set may share one.
type following struct {
	mu     sync.Mutex
	facts  *hoststat.Facts
	course trace.Trace
	began  time.Time     // when the first reading was taken
	base   time.Duration // from the sampler's start to that, set at the end
	stop   chan struct{}
	cancel context.CancelFunc // ends what does not stop by itself
	done   sync.WaitGroup
}

func (f *following) add(i *hoststat.Interval) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.course.Add(i)
}

// begin takes the first reading and continues until end is called.
func (h *host) begin(ctx context.Context, every time.Duration) {
	if c, ok := h.machine.(platform.Clocked); ok {
		bounded, cancel := context.WithTimeout(ctx, followStart)
		if offset, uncertainty, err := c.Offset(bounded); err == nil {
			h.clock = &trace.Clock{Offset: offset.Seconds(), Uncertainty: uncertainty.Seconds()}
		}
		cancel()
	}
	if !h.owner {
		return
	}
	f := h.shared
	f.stop = make(chan struct{})
	ctx, f.cancel = context.WithCancel(ctx)
	if local, ok := h.machine.(platform.Local); ok && local.Local() {
		h.beginHere(every)
		return
	}
	if carrier, carries := h.machine.(platform.Carrier); carries && h.beginFar(ctx, carrier, every) {
		return
	}
	r := hoststat.NewReader(collect.Files(ctx, h.machine))
	r.Only = collect.FileSources()
	h.follow(&trace.Follower{Reader: r, Every: every, Share: SampleShare, Slow: true})
}

// beginHere reads this host in this process.
func (h *host) beginHere(every time.Duration) {
	r := hoststat.NewReader(hoststat.Local())
	r.Parent, r.Focus = os.Getpid(), h.guests
	h.shared.facts, _ = r.Facts()
	h.follow(&trace.Follower{Reader: r, Every: every, Share: SampleShare})
}

// follow takes the first reading, and the others beside the load.
func (h *host) follow(by *trace.Follower) {
	by.Reader.Members = h.members
	h.shared.began = time.Now()
	by.Begin()
	h.shared.done.Go(func() { by.Run(h.shared.stop, h.shared.add) })
}

// exitError is the error of a process of plimsoll that ended by itself.
type exitError struct{ text string }

func (e *exitError) Error() string { return e.text }

// beginFar has a process on the machine read it. It reports false if the machine has no such
// process, and must be read file by file; a machine that does not answer is not read.
func (h *host) beginFar(ctx context.Context, carrier platform.Carrier, every time.Duration) bool {
	bounded, cancel := context.WithTimeout(ctx, followStart)
	defer cancel()
	self, err := carrier.Self(bounded)
	if err != nil {
		return !errors.Is(err, errors.ErrUnsupported)
	}
	order, err := json.Marshal(trace.Order{Every: every.Seconds(), Share: SampleShare, Members: h.members})
	if err != nil {
		return false
	}
	f := h.shared
	in, out := io.Pipe()
	f.done.Go(func() {
		r, err := h.machine.Run(ctx, platform.Command{Argv: []string{self, hoststat.FollowCommand}, Stdin: bytes.NewReader(order), Stdout: out, Stop: f.stop})
		if err == nil && r.Exit != 0 {
			err = &exitError{fmt.Sprintf("%s %s: %s", self, hoststat.FollowCommand, bytes.TrimSpace(r.Stderr))}
		}
		out.CloseWithError(err)
	})
	started := make(chan bool, 1)
	f.done.Go(func() {
		defer in.Close()
		lines := json.NewDecoder(in)
		for {
			var r trace.Report
			if err := lines.Decode(&r); err != nil {
				var exit *exitError
				select {
				case started <- !errors.As(err, &exit) && !errors.Is(err, io.EOF) && !errors.Is(err, errors.ErrUnsupported):
				default:
				}
				return
			}
			if r.Facts != nil {
				f.mu.Lock()
				f.facts, f.began = r.Facts, time.Now()
				f.mu.Unlock()
				started <- true
			} else if r.Interval != nil {
				f.add(r.Interval)
			}
		}
	})
	select {
	case ok := <-started:
		return ok
	case <-time.After(followStart):
	case <-ctx.Done():
	}
	return true // late: intervals still come, their time is that of the first reading
}

// end returns when nothing reads any more. A machine that does not answer is not waited for.
func (h *host) end(start time.Time) {
	if h.owner {
		close(h.shared.stop)
		timer := time.AfterFunc(sampleLast, h.shared.cancel)
		h.shared.done.Wait()
		timer.Stop()
		h.shared.cancel()
		if began := h.shared.began; !began.IsZero() {
			h.shared.base = began.Sub(start)
		}
	}
}

// missing lists the sources that the machine lacks.
func (h *host) missing() (lines []string) {
	all := trace.Combine(h.intervals())
	for _, s := range h.flattens {
		if all == nil {
			lines = append(lines, s.name+": the host was not read during the load")
			continue
		}
		for _, need := range s.needs {
			if why, lacks := all.Missing[need]; lacks {
				lines = append(lines, fmt.Sprintf("%s: %s: %s", s.name, h.name, why))
				break
			}
		}
	}
	return lines
}

func (h *host) intervals() []hoststat.Interval {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	return slices.Clone(h.shared.course.Intervals)
}

// last is the last interval so far.
func (h *host) last() (hoststat.Interval, bool) {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	all := h.shared.course.Intervals
	if len(all) == 0 {
		return hoststat.Interval{}, false
	}
	return all[len(all)-1], true
}

// within are the intervals inside a window or, where they cover less than half of it, all those that are in it for the
// most part.
func (h *host) within(w measure.Window, grace float64) (inside []hoststat.Interval) {
	all, base := h.intervals(), h.shared.base.Seconds()
	covered := 0.
	for _, i := range all {
		if from, to := base+i.At-i.Seconds, base+i.At; from >= w.Cut-1e-3 && to <= w.End+grace {
			inside = append(inside, i)
			covered += i.Seconds
		}
	}
	if covered >= (w.End-w.Cut)/2 {
		return inside
	}
	inside = nil
	for _, i := range all { // where reading is slow, an interval may be longer than the window
		from, to := base+i.At-i.Seconds, base+i.At
		if common := min(to, w.End) - max(from, w.Cut); common >= i.Seconds/2 || to > w.Cut && to <= w.End+grace {
			inside = append(inside, i)
		}
	}
	return inside
}

// around is the interval that holds all of a window, nil if it is more than four times as long: of a host too busy to be
// read in time. It explains; counters, by which trials are judged, are not taken from it.
func (h *host) around(w measure.Window) *hoststat.Interval {
	const leastShare = .25
	base := h.shared.base.Seconds()
	for _, i := range h.intervals() {
		if from, to := base+i.At-i.Seconds, base+i.At; from <= w.Cut && to >= w.End && w.End-w.Cut >= leastShare*i.Seconds {
			return &i
		}
	}
	return nil
}

// flat is an interval as counters by name.
func (h *host) flat(i *hoststat.Interval) map[string]float64 {
	values := map[string]float64{}
	if i != nil {
		for _, s := range h.flattens {
			s.flatten(i, values)
		}
	}
	return values
}

// detail is the file of the host of a trial; nil if the machine shows too little, or is a host
// that another member reads.
func (h *host) detail(w measure.Window, grace float64, made []trace.Event) []byte {
	mean := trace.Combine(h.within(w, grace))
	if mean == nil {
		mean = h.around(w)
	}
	if !h.owner || h.shared.facts == nil || mean == nil {
		return nil
	}
	all, base := h.intervals(), h.shared.base.Seconds()
	for n := range all {
		all[n].At += base
	}
	d := trace.Detail{
		Machine: h.name, Guests: h.guests, Served: h.served, Clock: h.clock, Made: made,
		Recording: hoststat.Recording{Facts: h.shared.facts, Mean: mean, Intervals: all},
	}
	text, err := d.Encode()
	if err != nil {
		return nil
	}
	return text
}
