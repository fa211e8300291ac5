package postgresql

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/pattern"
	"plimsoll/internal/service"
)

// The lines of log_checkpoints, behind the prefix "%m [%p] " of config
// (src/backend/access/transam/xlog.c, LogCheckpointStart and LogCheckpointEnd).
var (
	checkpointBegins = pattern.Of(`^(\S+ \S+) GMT \[(\d+)\] LOG:  checkpoint starting:`)
	checkpointEnds   = pattern.Of(`^(\S+ \S+) GMT \[(\d+)\] LOG:  checkpoint complete:.* total=(\d+\.?\d*) s`)
)

const (
	logTime   = "2006-01-02 15:04:05.000"
	mostTotal = 1e7 // seconds of a checkpoint
)

// events are the checkpoints in a log. The log may begin in the middle of one.
func events(log []byte) (all []service.Event) {
	open := map[string]int{} // by process: each server has one checkpointer
	for line := range bytes.Lines(log) {
		if m := checkpointBegins().FindSubmatch(line); m != nil {
			if from, err := time.Parse(logTime, string(m[1])); err == nil {
				open[string(m[2])] = len(all)
				all = append(all, service.Event{From: from, Name: "checkpoint"})
			}
			continue
		}
		m := checkpointEnds().FindSubmatch(line)
		if m == nil {
			continue
		}
		to, err := time.Parse(logTime, string(m[1]))
		total, bad := strconv.ParseFloat(string(m[3]), 64)
		if err != nil || bad != nil || total > mostTotal {
			continue
		}
		at, begun := open[string(m[2])]
		if !begun {
			at = len(all)
			all = append(all, service.Event{From: to.Add(-time.Duration(total * float64(time.Second))), Name: "checkpoint"})
		}
		all[at].To = to
		delete(open, string(m[2]))
	}
	slices.SortStableFunc(all, func(a, b service.Event) int { return a.From.Compare(b.From) })
	return all
}
