package redis

import (
	"bytes"
	"slices"
	"time"

	"plimsoll/internal/pattern"
	"plimsoll/internal/service"
)

// The lines of a server's parent process about its children (src/rdb.c and src/aof.c, of Redis 6 to 7.2 and of Valkey), which begin
// with its PID, its role and the time.
var (
	childBegins = pattern.Of(`^(\d+):[MS] (\d+ \w+ \d+ [\d:.]+) \S (?:Background (saving)|Background append only file (rewriting)) started by pid`)
	childEnds   = pattern.Of(`^(\d+):[MS] (\d+ \w+ \d+ [\d:.]+) \S Background (?:(saving)|AOF (rewrite)) (?:terminated|error)`)
)

const logTime = "2 Jan 2006 15:04:05.000"

// events are the snapshots and the rewrites of the append-only file in a log, whose times are in UTC.
func events(log []byte) (all []service.Event) {
	type child struct{ server, name string }
	open := map[child]int{}
	for line := range bytes.Lines(log) {
		if m := childBegins().FindSubmatch(line); m != nil {
			if from, err := time.Parse(logTime, string(m[2])); err == nil {
				c := child{string(m[1]), childName(m[3])}
				open[c] = len(all)
				all = append(all, service.Event{From: from, Name: c.name})
			}
			continue
		}
		m := childEnds().FindSubmatch(line)
		if m == nil {
			continue
		}
		to, err := time.Parse(logTime, string(m[2]))
		c := child{string(m[1]), childName(m[3])}
		if at, begun := open[c]; begun && err == nil {
			all[at].To = to
			delete(open, c)
		}
	}
	slices.SortStableFunc(all, func(a, b service.Event) int { return a.From.Compare(b.From) })
	return all
}

func childName(saving []byte) string {
	if len(saving) > 0 {
		return "snapshot"
	}
	return "AOF rewrite"
}
