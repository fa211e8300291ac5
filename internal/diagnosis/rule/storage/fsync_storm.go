package storage

import (
	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	leastFlushes  = 10    // per second
	leastFlushing = 0.1   // share of the time
	littleData    = 256e3 // bytes per flush: with more, the data and not the flush take the time
)

// syncing are the kernel functions in which threads wait for data to be on the disk: commits of
// the journals of ext4, xfs, btrfs and f2fs, and flushes of the device.
var syncing = []string{"jbd2_log_wait_commit", "jbd2_complete_transaction", "jbd2_log_do_checkpoint", "__jbd2_log_wait_for_space", "xlog_wait", "xfs_log_force", "__xfs_log_force", "btrfs_sync_log", "btrfs_wait_ordered", "wait_current_trans", "f2fs_issue_flush", "submit_bio_wait", "blkdev_issue_flush", "blk_wait_io"}

// fsyncStorm finds programs that spend their time on forcing small writes to the disk. A database
// with a few commits per second looks alike, and waits for them little of its time.
var fsyncStorm = diagnosis.Rule{
	Name: "fsync_storm", Area: diagnosis.Storage,
	Doc:      "a program forces many small writes to the disk one by one, and waits for each",
	Needs:    []string{"disks", "processes"},
	Explains: []string{"device_ceiling", "queue_depth_low", "write_amplification", "io_scheduler", "checkpoint_backlog", "periodic_stall"},
	Check: sometimesToo(func(e *diagnosis.Evidence) []diagnosis.Finding {
		d := flushed(e)
		if d == nil {
			return nil
		}
		// Without the kernel's functions, any wait of a program that writes may be one for a flush.
		var worst *waiter
		sync, confidence := 0., diagnosis.Likely
		for _, w := range waiters(e) {
			in := w.io.In(syncing...)
			if in >= leastWait && in > sync && w.io.WriteBytes > 0 {
				worst, sync, confidence = &w, in, diagnosis.Certain
			}
			if worst == nil && w.io.WriteBytes > w.io.ReadBytes && w.io.WriteBytes/d.Flushes < littleData {
				worst = &w
			}
		}
		if worst == nil {
			return nil
		}
		if sync == 0 {
			sync = worst.io.Blocked * min(1, d.FlushTime/max(1e-9, d.FlushTime+d.WriteTime+d.ReadTime))
		}
		cost := worst.Costs(max(sync, worst.io.Blocked*min(1, d.FlushTime)))
		if cost < leastCost/2 {
			return nil
		}
		all := cost / (1 - min(0.95, cost))
		return []diagnosis.Finding{{
			Subject:    worst.Subject(),
			Confidence: confidence,
			Impact:     cost,
			Says:       "{subject} forces its writes to " + d.Name + " {flushes} times per second with {data} each, and waits {waiting} of its time for that.",
			Evidence: []diagnosis.Fact{
				diagnosis.Number("flushes", d.Flushes), diagnosis.Bytes("data", d.WriteBytes/d.Flushes),
				diagnosis.Seconds("time of a flush", d.FlushTime/d.Flushes), diagnosis.Share("waiting", cost),
			},
			Change:     &diagnosis.Change{Says: group(worst.Name)},
			Prediction: &diagnosis.Prediction{Low: all / 2, High: all, Of: "throughput", Basis: "the time spent waiting for flushes"},
		}}
	}),
}

// flushed is the device whose flushes take the most time, if they do.
func flushed(e *diagnosis.Evidence) (most *hoststat.Disk) {
	for n := range e.Mean.Disks {
		d := &e.Mean.Disks[n]
		if d.Flushes < leastFlushes || d.FlushTime < leastFlushing || d.WriteBytes/d.Flushes > littleData {
			continue
		}
		if most == nil || d.FlushTime > most.FlushTime {
			most = d
		}
	}
	return most
}

// group is how a program forces several writes to the disk at once.
func group(name string) string {
	known := map[string]string{
		"postgres":     "commit in larger transactions, or set commit_delay; synchronous_commit=off loses the last transactions in a crash",
		"mysqld":       "commit in larger transactions; innodb_flush_log_at_trx_commit=2 and sync_binlog=0 lose the last transactions in a crash",
		"mariadbd":     "commit in larger transactions; innodb_flush_log_at_trx_commit=2 loses the last transactions in a crash",
		"redis-server": "set appendfsync everysec, which loses up to a second in a crash",
		"etcd":         "write in batches, or put its log on a disk with a protected write cache",
		"mongod":       "write in batches, or raise the commit interval of the journal",
	}
	if says, ok := known[name]; ok {
		return says
	}
	return "let " + name + " call fsync once for many writes (group commit), or put its log on a disk with a protected write cache"
}
