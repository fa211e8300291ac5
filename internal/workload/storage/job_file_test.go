package storage

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
)

func TestJobFile(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		images   bool
		global   string
		jobs     []string
	}{
		{parameter.Settings{"disks": "2", "size": "64MiB", "read": "70%", "threads": "2", "depth": "4"}, false,
			"ioengine=libaio direct=1 iodepth=4 rw=randrw norandommap=1 fallocate=none overwrite=1 bs=4096 rwmixread=70 scramble_buffers=1",
			[]string{"job0 filename=disk-01 numjobs=2 size=67108864", "job1 filename=disk-02 numjobs=2 size=67108864"}},
		{parameter.Settings{"size": "64MiB", "spec": "524288_100_0"}, true, "ioengine=rbd direct=1 iodepth=1 rw=read norandommap=1 fallocate=none overwrite=1 bs=524288", []string{"job0 rbdname=disk-01 numjobs=1 size=67108864"}},
		{parameter.Settings{"targets": "/dev/a:b", "destroy": "true", "rate": "100/s", "depth": "2"}, false,
			"ioengine=psync direct=1 iodepth=1 rw=randwrite norandommap=1 fallocate=none overwrite=1 bs=4096 scramble_buffers=1", []string{`job0 filename=/dev/a\:b numjobs=2 rate_process=poisson rate_iops=50`}},
	} {
		f, err := Kind().JobFile(c.settings, c.images)
		if err != nil {
			t.Fatal(err)
		}
		var jobs []string
		for _, j := range f.Jobs {
			jobs = append(jobs, j.Name+" "+strings.Join(j.Options, " "))
		}
		if got := strings.Join(f.Global, " "); got != c.global || !slices.Equal(jobs, c.jobs) {
			t.Errorf("%v:\n%s\n%q\nwant\n%s\n%q", c.settings, got, jobs, c.global, c.jobs)
		}
	}
	if f, err := Kind().JobFile(parameter.Settings{"block": "4KiB/50:8KiB/50"}, false); err != nil || f.Block != 0 {
		t.Errorf("two sizes are one of %v, %v", f.Block, err)
	}
	if _, err := Kind().JobFile(parameter.Settings{"block": "4"}, false); err == nil {
		t.Error("a block of 4 bytes is accepted")
	}
}

// fio reads a job file as it is written.
func TestFioReadsAJobFile(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("PLIMSOLL_REAL is not set")
	}
	f, err := Kind().JobFile(parameter.Settings{"disks": "2", "size": "1MiB", "read": "50%", "rate": "400/s", "depth": "2", "compress": "50%"}, false)
	if err != nil {
		t.Fatal(err)
	}
	text := "[global]\n" + strings.Join(f.Global, "\n") + "\n"
	for _, j := range f.Jobs {
		text += "[" + j.Name + "]\n" + strings.Join(j.Options, "\n") + "\n"
	}
	name := filepath.Join(t.TempDir(), "fio.cfg")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("fio", "--parse-only", name).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
