package storage

import (
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	burst      = 1.5 // times the mean rate of writes
	leastBurst = 4e6 // bytes per second of writes in bursts
)

// background are names of processes and threads that write what others have collected, and how to
// spread their work.
var background = []struct{ name, change, command string }{
	{"checkpointer", "spread the checkpoints of PostgreSQL: raise max_wal_size, and keep checkpoint_completion_target at 0.9", `psql -c "ALTER SYSTEM SET max_wal_size = '8GB'" -c "ALTER SYSTEM SET checkpoint_completion_target = 0.9" -c "SELECT pg_reload_conf()"`},
	{"ib_pg_flush", "let InnoDB write dirty pages earlier: raise innodb_io_capacity and the size of its log", `mariadb -e "SET GLOBAL innodb_io_capacity = 2000"`},
	{"ib_page_flush", "let InnoDB write dirty pages earlier: raise innodb_io_capacity and the size of its log", `mariadb -e "SET GLOBAL innodb_io_capacity = 2000"`},
	{"CompactionExec", "limit the compactions of Cassandra", "nodetool setcompactionthroughput 16"},
	{"MemtableFlush", "give Cassandra more memory for memtables, so that it flushes less often", ""},
	{"rocksdb:low", "limit the compactions of RocksDB (rate_limiter), or write in smaller steps", ""},
	{"rocksdb:high", "give RocksDB larger write buffers, so that it flushes less often", ""},
	{"WTCheck", "let MongoDB evict dirty pages earlier: lower eviction_dirty_target", ""},
	{"redis-rdb-bgsave", "save snapshots of Redis less often", "redis-cli CONFIG SET save ''"},
	{"redis-aof-rewrit", "rewrite the log of Redis less often: raise auto-aof-rewrite-percentage", ""},
	{"MergeMutate", "limit the merges of ClickHouse", ""},
	{"BackgrProcPool", "limit the merges of ClickHouse", ""},
	{"Lucene Merge", "limit the merges of the search index", ""},
}

// checkpointBacklog finds background writers of databases whose bursts make the others wait. A
// backup that bursts is no background writer of theirs, and a burst that nobody waits for is none.
var checkpointBacklog = diagnosis.Rule{
	Name: "checkpoint_backlog", Area: diagnosis.Storage,
	Doc:      "a database writes in bursts, and programs wait for the disk during them",
	Needs:    []string{"disks", "processes"},
	Explains: []string{"device_ceiling", "disk_neighbour", "periodic_stall", "fsync_storm", "writeback_stall", "write_amplification"},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		if f, ok := tooOften(e); ok {
			return []diagnosis.Finding{f}
		}
		for _, b := range background {
			writer := writerOf(e, b.name)
			if writer == nil {
				continue
			}
			s := split(e, writer.PID)
			if s.share < 0.05 || s.share > 0.6 || s.rate < leastBurst || s.blocked-s.blockedElse < leastWait || s.blocked < 2*s.blockedElse {
				continue
			}
			confidence := diagnosis.Likely
			if s.own < 0.3*s.rate { // its writes are not those of the bursts, or are counted with another thread
				confidence = diagnosis.Possible
			}
			return []diagnosis.Finding{{
				Subject:    diagnosis.Subject(writer),
				Confidence: confidence,
				Impact:     min(1, s.share*s.blocked),
				Says:       "Storage is written in bursts, {of the time} of the time, while {subject} (" + b.name + ") is active: then {waiting} threads wait for it on average, and {otherwise} otherwise.",
				Evidence: []diagnosis.Fact{
					diagnosis.Share("of the time", s.share), diagnosis.Number("waiting", s.blocked), diagnosis.Number("otherwise", s.blockedElse),
					diagnosis.ByteRate("rate in bursts", s.rate), diagnosis.ByteRate("its own", s.own),
				},
				Change: &diagnosis.Change{Says: b.change, Command: b.command},
			}}
		}
		return nil
	},
}

// spread is the time over which PostgreSQL spreads a checkpoint by default, in seconds:
// checkpoint_completion_target of checkpoint_timeout. Each writes a shared buffer at most once.
const spread = 0.9 * 300

// tooOften finds a checkpointer of PostgreSQL that writes all shared memory more often than a
// timeout asks for: the log fills max_wal_size repeatedly. Each checkpoint makes the log larger
// too, as a page's first change after it is logged whole.
func tooOften(e *diagnosis.Evidence) (diagnosis.Finding, bool) {
	shared := e.Mean.Memory["Shmem"] + e.Mean.Memory["Hugetlb"]
	for _, p := range e.Services() {
		for _, one := range p.Processes {
			io := p.IO()
			if !strings.Contains(one.Command, "postgres") || !strings.Contains(one.Command, "checkpointer") || one.WriteBytes < leastBurst || shared == 0 || !repeats(e, one, shared) || !e.Asked(one) {
				continue
			}
			share := one.WriteBytes / max(1, io.WriteBytes)
			return diagnosis.Finding{
				Subject:    diagnosis.Subject(one),
				Confidence: diagnosis.Likely,
				Impact:     share / 2, // of the writes; they cost less of the time
				Says:       "The checkpointer of PostgreSQL, {subject}, writes {rate}: that is all shared memory ({shared memory}) every {period}, so checkpoints follow one another because the log reaches max_wal_size. They are {share} of its writes.",
				Evidence: []diagnosis.Fact{
					diagnosis.ByteRate("rate", one.WriteBytes), diagnosis.Bytes("shared memory", shared), diagnosis.Seconds("period", shared/one.WriteBytes),
					diagnosis.Share("share", share), diagnosis.ByteRate("all writes", io.WriteBytes),
				},
				Change:     &diagnosis.Change{Says: background[0].change, Command: background[0].command},
				Prediction: &diagnosis.Prediction{Low: 0, High: share, Of: "throughput", Basis: "the share of the checkpointer in the writes"},
			}, true
		}
	}
	return diagnosis.Finding{}, false
}

// repeats reports whether a checkpointer writes its shared memory more often than checkpoints by time
// do. One checkpoint on demand is as fast as the disk, but it writes shared memory once and ends.
func repeats(e *diagnosis.Evidence, p *hoststat.Process, shared float64) bool {
	if p.WriteBytes*e.Mean.Seconds > 1.5*shared {
		return p.WriteBytes*spread > 1.5*shared
	}
	return p.WriteBytes*spread > 4*shared && steadily <= e.Times(func(i *hoststat.Interval) bool {
		for n := range i.Processes {
			if now := &i.Processes[n]; now.PID == p.PID {
				return now.WriteBytes > p.WriteBytes/4
			}
		}
		return false
	})
}

// writerOf is the process with the name of a background writer, or with an active thread of it.
func writerOf(e *diagnosis.Evidence, name string) *hoststat.Process {
	for n := range e.Mean.Processes {
		p := &e.Mean.Processes[n]
		if !e.Asked(p) {
			continue
		}
		if strings.HasPrefix(p.Name, name) || strings.Contains(p.Command, name) && p.WriteBytes > 0 {
			return p
		}
		for k := range p.Tasks {
			if t := &p.Tasks[k]; strings.HasPrefix(t.Name, name) && (t.Busy() > 0.002 || t.State == "D") {
				return p
			}
		}
	}
	return nil
}

// bursts are the means over the intervals with bursts of writes, and over the others.
type bursts struct {
	share                float64 // of the time
	rate, own            float64 // bytes written per second in bursts, to devices and by the writer
	blocked, blockedElse float64 // threads of services waiting for I/O
}

// split divides the series by the rate of writes. The writer's own waiting counts if it is a
// process of many threads only.
func split(e *diagnosis.Evidence, writer int) (s bursts) {
	devices := lowest(e)
	rate := func(i *hoststat.Interval) (sum float64) {
		for _, d := range devices {
			if now := disk(i, d.Name); now != nil {
				sum += now.WriteBytes
			}
		}
		return sum
	}
	mean, in, out := 0., 0., 0.
	for n := range e.Intervals {
		mean += rate(&e.Intervals[n]) / float64(len(e.Intervals))
	}
	for n := range e.Intervals {
		i := &e.Intervals[n]
		blocked, own := 0., 0.
		for k := range i.Processes {
			p := &i.Processes[k]
			if p.PID == writer {
				own = p.WriteBytes
			}
			if p.Parent != 2 && (p.PID != writer || p.Threads > 1) {
				blocked += p.Blocked
			}
		}
		if r := rate(i); r > burst*mean {
			in, s.rate, s.own, s.blocked = in+1, s.rate+r, s.own+own, s.blocked+blocked
		} else {
			out, s.blockedElse = out+1, s.blockedElse+blocked
		}
	}
	s.share = in / max(1, in+out)
	s.rate, s.own, s.blocked, s.blockedElse = s.rate/max(1, in), s.own/max(1, in), s.blocked/max(1, in), s.blockedElse/max(1, out)
	return s
}
