package ceph

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/counter"
)

// A compaction runs from its begin to its end, in the process of the OSD that runs now.
func TestCompactionsInTheLogsOfOSDs(t *testing.T) {
	const (
		boot  = "2026-11-28T16:23:31.001+0000 7f8ac22231c0  0 ceph version 16.2.15 (618f) pacific (stable), process ceph-osd, pid 16507\n\n"
		start = `2026-11-28T16:25:08.925+0000 7f8aaeffd6c0  4 rocksdb: EVENT_LOG_v1 {"time_micros": 1, "job": 16, "event": "compaction_started", "files_L0": [46, 32]}` + "\n\n"
		flush = `2026-11-28T16:25:08.921+0000 7f8aadffb6c0  4 rocksdb: EVENT_LOG_v1 {"time_micros": 1, "job": 15, "event": "flush_started", "num_memtables": 1}` + "\n\n"
		done  = `2026-11-28T16:25:08.925+0000 7f8aaeffd6c0  4 rocksdb: (Original Log Time 2026/11/28-16:25:08.929517) EVENT_LOG_v1 {"job": 16, "event": "compaction_finished"}` + "\n\n"
		moved = `2026-11-28T16:25:08.933+0000 7f8aae7fc6c0  4 rocksdb: EVENT_LOG_v1 {"job": 18, "event": "trivial_move", "destination_level": 1}` + "\n\n"
	)
	dir := t.TempDir()
	for name, log := range map[string]string{
		"osd.0": boot + start + done + moved, "osd.1": boot + start, "osd.2": boot + start + boot, "osd.3": boot + start + done + flush, "osd.4": boot + start + start + done, "mon": start,
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".out"), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("sh", "-c", jobs+" | sort")
	c.Dir = dir
	out, err := c.CombinedOutput()
	if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != "osd.1.out osd.3.out osd.4.out" {
		t.Errorf("got %q, %v", got, err)
	}
}

// What OSDs defer makes the cluster unsettled, until they have written it: after 3 s without load. A compaction is in their logs.
func settles(t *testing.T, i service.Instance, d *daemons) {
	conf := filepath.Join(d.places[0].dir, confFile)
	rbd := func(argv ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "rbd", append([]string{"--conf", conf, "--pool", pool}, argv...)...).CombinedOutput(); err != nil {
			t.Errorf("rbd %q: %v: %s", argv, err, out)
		}
	}
	settle := func(what string) {
		t.Helper()
		began := time.Now()
		if err := until(t.Context(), time.Minute, "end of work", d.unsettled); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s: settled after %s", what, time.Since(began).Round(time.Millisecond))
	}
	settle("start")
	rbd("create", "--size", "32M", "image")
	rbd("bench", "--io-type", "write", "--io-size", "1M", "--io-total", "32M", "image")
	settle("large writes")
	ended, deferred := make(chan struct{}), false
	go func() {
		defer close(ended)
		rbd("bench", "--io-type", "write", "--io-size", "4K", "--io-pattern", "rand", "--io-total", "2M", "image")
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		busy, err := d.unsettled(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		deferred = deferred || strings.HasPrefix(busy, "deferred writes in osd.")
	}
	if !deferred {
		t.Error("small writes are not deferred")
	}
	settle("small writes")
	before := counted(t, i)
	var answer any
	if err := d.ask(t.Context(), osd(0), "compact", &answer); err != nil {
		t.Fatal(err)
	}
	settle("compaction")
	log, err := os.ReadFile(filepath.Join(d.places[0].dir, "osd.0.out"))
	begins, ends := strings.Count(string(log), `"event": "compaction_started"`), strings.Count(string(log), `"event": "compaction_finished"`)
	if err != nil || begins == 0 || begins != ends {
		t.Errorf("the log has %d begins and %d ends of compactions, %v", begins, ends, err)
	}
	if after := counted(t, i); after[counter.DeviceWrite] <= before[counter.DeviceWrite] && before[counter.DeviceWrite] > 0 {
		t.Error("the compaction has written nothing")
	}
}
