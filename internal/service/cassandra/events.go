package cassandra

import (
	"bytes"
	"time"

	"plimsoll/internal/pattern"
	"plimsoll/internal/service"
)

// compaction is a line of the diary (org.apache.cassandra.db.compaction.CompactionTask).
var compaction = pattern.Of(`^(\S+ \S+) Compact(ing|ed) \(([0-9a-f-]+)\)`)

const diaryTime = "2006-01-02 15:04:05.000"

// events are the compactions in the diary. One without its beginning is left out.
func events(log []byte) (all []service.Event) {
	open := map[string]int{}
	for line := range bytes.Lines(log) {
		m := compaction().FindSubmatch(line)
		if m == nil {
			continue
		}
		at, err := time.Parse(diaryTime, string(m[1]))
		if err != nil {
			continue
		}
		task := string(m[3])
		if string(m[2]) == "ing" {
			open[task] = len(all)
			all = append(all, service.Event{From: at, Name: "compaction"})
		} else if n, begun := open[task]; begun {
			all[n].To = at
			delete(open, task)
		}
	}
	return all
}
