// Package trace follows the state of a host and keeps its course within a bounded size.
package trace

import (
	"cmp"
	"runtime"
	"slices"
	"syscall"
	"time"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/interval"
)

// Follower takes readings of a host at equal intervals.
type Follower struct {
	Reader *hoststat.Reader
	Every  time.Duration
	// Share is the largest part of one CPU that reading may take: where it takes more, it is done
	// less often. 0 is no limit.
	Share float64
	// Slow has the time that reading takes count instead of its CPU time, where the files are
	// elsewhere.
	Slow bool

	begin time.Time
	last  *hoststat.State
	cost  time.Duration
}

// Begin takes the first reading; the time of intervals is since then.
func (f *Follower) Begin() {
	f.begin = time.Now()
	f.last = f.read()
}

// read takes a reading and measures its cost.
func (f *Follower) read() *hoststat.State {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from, before := time.Now(), threadCPU()
	s := f.Reader.Read(from.Sub(f.begin).Seconds())
	if f.cost = threadCPU() - before; f.Slow {
		f.cost = time.Since(from)
	}
	return s
}

// threadCPU is the CPU time of this thread.
func threadCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Run calls use with each interval until stop is closed, and then with the last one.
func (f *Follower) Run(stop <-chan struct{}, use func(*hoststat.Interval)) {
	for ended := false; !ended; {
		wait := f.Every
		if f.Share > 0 {
			wait = max(wait, time.Duration(float64(f.cost)/f.Share))
		}
		timer := time.NewTimer(wait)
		select {
		case <-stop:
			ended = true
		case <-timer.C:
		}
		timer.Stop()
		now := f.read()
		if i := interval.Between(f.last, now); i != nil {
			use(trimmed(i, f.Reader.Focus))
			f.last = now
		}
	}
}

const (
	mostTraced = 16 // processes of an interval with their threads
	mostKept   = 16 // threads of each
)

// trimmed is the interval with the busiest threads of the busiest processes, and of those in the
// focus: one that waits for CPUs is not busy.
func trimmed(i *hoststat.Interval, focus []int) *hoststat.Interval {
	slices.SortStableFunc(i.Processes, func(a, b hoststat.Process) int { return byUse(a.Busy(), b.Busy(), a.PID, b.PID) })
	traced := 0
	for n := range i.Processes {
		p := &i.Processes[n]
		if len(p.Tasks) == 0 {
			continue
		}
		if traced++; traced > mostTraced && !slices.Contains(focus, p.PID) {
			p.Tasks = nil
			continue
		}
		slices.SortStableFunc(p.Tasks, func(a, b hoststat.Thread) int { return cmp.Compare(b.Busy()+b.RunDelay, a.Busy()+a.RunDelay) })
		p.Tasks = slices.Clone(p.Tasks[:min(mostKept, len(p.Tasks))])
	}
	return i
}

// Trace is the course of a host in successive intervals. Of a long time it keeps longer ones.
type Trace struct{ Intervals []hoststat.Interval }

// mostIntervals bounds a trace. It is even.
const mostIntervals = 256

// Add appends an interval.
func (t *Trace) Add(i *hoststat.Interval) {
	t.Intervals = append(t.Intervals, *i)
	if len(t.Intervals) < mostIntervals {
		return
	}
	for n := range len(t.Intervals) / 2 {
		t.Intervals[n] = *Combine(t.Intervals[2*n : 2*n+2])
	}
	clear(t.Intervals[len(t.Intervals)/2:])
	t.Intervals = t.Intervals[:len(t.Intervals)/2]
}
