package hciexport

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
)

// What fio measured on two files is the same after an export, and in a comparison of both.
func TestRoundTripOfARun(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to run fio on this machine")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	l := newLab()
	study := filepath.Join(t.TempDir(), "study.yaml")
	put(t, study, []byte(`study: real
question: Do two arms make two cases?
platform: local
workload:
  storage: {disks: 2, size: 8MiB, read: 50%, depth: 4}
factors:
  storage.rate: [160/s, 320/s]
measure: {settle: 0s, warmup: 500ms, window: 2s, longest: 4s, blocks: 1, retries: 30}
margin: 95%
headline: [iops]
`))
	source, err := l.Read(study, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "results")
	if _, err := l.Run(t.Context(), lab.Request{Source: *source, Dir: dir, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	out, _ := exported(t, dir)
	in := imported(t, out)
	r, err := lab.ReadRecorded(few(), dir)
	if err != nil {
		t.Fatal(err)
	}
	readByFio(t, out)
	n := 0
	for _, record := range r.Records {
		if !record.Valid() {
			t.Logf("trial %d is void: %s", record.Trial, record.Void)
			continue
		}
		n++
		for name := range record.Values {
			if strings.HasPrefix(name, "generator.") || strings.Contains("."+name, ".service.") { // of fio, not of its disks; its results have one time of an operation
				delete(record.Values, name)
			}
		}
		at := slices.IndexFunc(in.Records, func(got measure.Record) bool { return got.Start.Equal(record.Start.Truncate(time.Second)) })
		if at < 0 {
			t.Fatalf("trial %d is missing", record.Trial)
		}
		same(t, &record, &in.Records[at], exact)
	}
	if n == 0 || len(in.Records) != n {
		t.Fatalf("%d valid trials, %d imported", n, len(in.Records))
	}
	all, err := l.ComparePair(dir, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if h := c.Input.Findings.Headlines; len(h) != 1 || h[0].Ratio-1 > exact || 1-h[0].Ratio > exact {
			t.Errorf("%s: %+v", c.Arm, h)
		}
	}
}

// readByFio has fio's own programs read the files of the cases.
func readByFio(t *testing.T, out string) {
	t.Helper()
	for _, name := range list(t, out) {
		var argv []string
		switch path := filepath.Join(out, name); filepath.Ext(name) {
		case ".json":
			argv = []string{"fio_jsonplus_clat2csv", path, filepath.Join(t.TempDir(), "latencies.csv")}
		case ".cfg":
			if filepath.Base(name) != "fio.cfg" {
				continue
			}
			argv = []string{"fio", "--parse-only", path}
		default:
			continue
		}
		if _, err := exec.LookPath(argv[0]); err != nil {
			t.Logf("%v", err)
			continue
		}
		if said, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, said)
		}
	}
}
