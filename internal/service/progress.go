package service

import (
	"context"
	"errors"
	"net"
	"path"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/service/stray"
)

// progress is the resource usage of a daemon that does not respond yet: while it grows, the
// daemon is slow rather than stuck.
type progress struct {
	logged int64         // bytes
	cpu    time.Duration // of its processes and of their reaped children
}

const (
	// longestStart is the time limit of a start with progress, or the daemon's patience if
	// longer.
	longestStart = 10 * time.Minute
	// leastCPU is the share of a CPU that counts as progress: more than the cost of one
	// query per second.
	leastCPU = .01
	ticks    = 100 // clock ticks a second in /proc/PID/stat, USER_HZ
)

// progress reads the machine; unreadable values are 0.
func (p *process) progress(ctx context.Context) (now progress) {
	ctx, cancel := context.WithTimeout(ctx, probing)
	defer cancel()
	p.printed.mu.Lock()
	now.logged = p.printed.came
	p.printed.mu.Unlock()
	if p.log != "" {
		if data, err := p.env.Machine.ReadFile(ctx, path.Join(p.env.Dir, p.log)); err == nil {
			now.logged += int64(len(data))
		}
	}
	pids, err := stray.In(ctx, p.env.Machine, p.env.Dir)
	if err != nil {
		return now
	}
	for _, pid := range pids {
		if text, err := p.env.Machine.ReadFile(ctx, "/proc/"+pid+"/stat"); err == nil {
			now.cpu += cpuTime(string(text))
		}
	}
	return now
}

// cpuTime is that of a process, from /proc/PID/stat: fields 14 to 17, counted from the name in
// parentheses, which may contain anything.
func cpuTime(stat string) (sum time.Duration) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const first = 14 - 3
	if len(fields) < first+4 {
		return 0
	}
	for _, field := range fields[first : first+4] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * time.Second / ticks
	}
	return sum
}

// since reports whether there was progress over an interval.
func (now progress) since(was progress, took time.Duration) bool {
	return now.logged > was.logged || (now.cpu-was.cpu).Seconds() > leastCPU*took.Seconds()
}

// refusal is the error of a daemon that plimsoll starts, without the advice for servers that
// you provide.
func refusal(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Error()
	}
	text, _, _ := strings.Cut(err.Error(), ": start the service")
	return text
}
