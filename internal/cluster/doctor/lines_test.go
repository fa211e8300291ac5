package doctor

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/doctor/pools"
	"plimsoll/internal/cluster/doctor/warning"
	"plimsoll/internal/cluster/snapshot"
)

var update = flag.Bool("update", false, "write golden files anew")

// gather rebuilds a report from its lines.
func gather(t *testing.T, text string) *Report {
	t.Helper()
	r := &Report{Hosts: []Host{}}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var kind struct{ Kind, Text, About string }
		take := func(v any) {
			if err := json.Unmarshal([]byte(line), v); err != nil {
				t.Fatalf("line %d: %v: %s", i+1, err, line)
			}
		}
		take(&kind)
		switch kind.Kind {
		case "cluster":
			if i > 0 {
				t.Errorf("the cluster is in line %d", i+1)
			}
			take(r)
		case "outcome":
			take(&r.Last)
		case "record":
			take(&r.Record)
		case "host":
			r.Hosts = append(r.Hosts, one[Host](take))
		case "pool":
			r.Pools = append(r.Pools, one[pools.View](take))
		case "short":
			r.Short = append(r.Short, one[Shortfall](take))
		case "move":
			r.Moves = append(r.Moves, one[Move](take))
		case "refused":
			r.Refused = append(r.Refused, one[Refused](take))
		case "warning":
			w := one[warning.Warning](take)
			w.Kind = kind.About
			r.Warnings = append(r.Warnings, w)
		case "broken":
			r.Broken = append(r.Broken, kind.Text)
		case "stranded":
			r.Stranded = append(r.Stranded, one[Stranded](take))
		case "remaining":
			r.Remaining = append(r.Remaining, one[Remaining](take))
		case "quiet":
			r.Quiet = kind.Text
		default:
			t.Errorf("line %d: kind %q", i+1, kind.Kind)
		}
	}
	return r
}

func one[T any](take func(any)) (v T) {
	take(&v)
	return v
}

// sameSaid checks that the lines of a report have the content of its text and JSON: a report
// rebuilt from them has both to the byte.
func sameSaid(t *testing.T, r *Report) {
	t.Helper()
	var lines, text, again strings.Builder
	if err := r.Lines(&lines); err != nil {
		t.Fatal(err)
	}
	back := gather(t, lines.String())
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := back.Text(&again); err != nil {
		t.Fatal(err)
	}
	if text.String() != again.String() {
		t.Errorf("the text says\n%s\nand that of the lines\n%s", text.String(), again.String())
	}
	a, _ := json.Marshal(r)
	b, _ := json.Marshal(back)
	if !bytes.Equal(a, b) {
		t.Errorf("the JSON says\n%s\nand that of the lines\n%s", a, b)
	}
}

func TestLinesSayWhatTheTextSays(t *testing.T) {
	for seed := range uint64(20) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 40, Rules: 8, Pools: 3, Load: .5 + float64(seed%5)/5, Placed: true})
		if seed%2 == 0 {
			c.Hosts[0].State = cluster.Maintenance
		}
		sameSaid(t, Look(c, advice.Options{}))
	}
}

// A lab of eight hosts with problems, then with all moves made but one, and then as before:
// the operator's view.
func TestALabOfEightHosts(t *testing.T) {
	lab := read(t, "lab.yaml")
	var ledger bytes.Buffer
	first := enter(t, &ledger, lab, "2026-11-21T14:00:00Z")
	golden(t, "first", first)

	next := read(t, "lab.yaml")
	after := After(lab, advice.Options{})
	for v := range next.VMs {
		if next.VMs[v].Name != first.Moves[1].VM {
			next.VMs[v].Host = after(cluster.VMID(v))
		}
		next.VMs[v].Demand.CPU.Recent *= 1.05
	}
	golden(t, "second", enter(t, &ledger, next, "2026-11-21T14:05:00Z"))
	golden(t, "third", enter(t, &ledger, lab, "2026-11-21T14:10:00Z"))
}

func read(t *testing.T, name string) *cluster.Cluster {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	c, err := snapshot.Read(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// golden compares a report with the files of a name, text and lines.
func golden(t *testing.T, name string, r *Report) {
	t.Helper()
	sameSaid(t, r)
	var text, lines bytes.Buffer
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.Lines(&lines); err != nil {
		t.Fatal(err)
	}
	for end, got := range map[string][]byte{".txt": text.Bytes(), ".jsonl": lines.Bytes()} {
		same(t, name+end, got)
	}
}

// same compares with a golden file.
func same(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
