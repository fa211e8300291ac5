package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/cmd/plimsoll/clustercmd"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/console"
	"plimsoll/internal/live"
	"plimsoll/internal/live/livetest"
)

// memoryLab is a live cluster in memory, as memory://lab/, and a state folder of its own.
type memoryLab struct {
	*testing.T
	live  *livetest.Cluster
	state string
}

func newLab(t *testing.T, c *cluster.Cluster) memoryLab {
	l := memoryLab{t, livetest.New(c), t.TempDir()}
	t.Setenv("XDG_STATE_HOME", l.state)
	return l
}

// run runs plimsoll cluster with arguments, and wants an exit status.
func (l memoryLab) run(want int, args ...string) (stdout, stderr string) {
	l.Helper()
	return l.runKind(l.live.Kind(), want, args...)
}

// runKind is run with another kind of clusters.
func (l memoryLab) runKind(kind live.Kind, want int, args ...string) (stdout, stderr string) {
	l.Helper()
	var out, complaints bytes.Buffer
	cmd := clustercmd.Command(&cli.Screen{Out: &out, Err: &complaints}, []live.Kind{kind})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(l.Context())
	if err != nil {
		cli.Complain(&complaints, err)
	}
	if got := cli.ExitStatus(err); got != want {
		l.Fatalf("cluster %q: status %d, want %d\n%s%s", args, got, want, out.String(), complaints.String())
	}
	return out.String(), complaints.String()
}

// journals lists the journals, the newest last.
func (l memoryLab) journals() []string {
	l.Helper()
	names, err := filepath.Glob(filepath.Join(l.state, "plimsoll", "live", "*.jsonl"))
	if err != nil {
		l.Fatal(err)
	}
	return names
}

func (l memoryLab) hosts() (list []string) {
	for _, v := range l.live.Now().VMs {
		list = append(list, l.live.Host(v.Name))
	}
	return list
}

// crowded has six VMs on its first host, which is too small for them.
func crowded() *cluster.Cluster {
	c := clustertest.Lopsided()
	for v := range c.VMs {
		c.VMs[v].Demand.CPU = cluster.Steady(9000)
	}
	return c
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

const at = "--live=memory://lab/"

func TestReadersOfALiveCluster(t *testing.T) {
	l := newLab(t, clustertest.Lopsided())
	kept := filepath.Join(t.TempDir(), "lab.yaml")
	for _, c := range []struct {
		want int
		args []string
		says string
	}{
		{0, []string{"doctor", at}, "sound: 3 hosts, 6 VMs running"},
		{0, []string{"doctor", at, "--observe", "1ms"}, "sound: 3 hosts"},
		{0, []string{"show", at, "--out", kept}, "bronze"},
		{0, []string{"why", at, "a-1"}, "a-1"},
		{0, []string{"why-not", at, "a-1", "esx-2"}, "esx-2"},
		{0, []string{"what-if", at, "--fail", "esx-1"}, "esx-1"},
		{0, []string{"topology", at}, "aligned"},
		{0, []string{"topology", at, "a-1"}, "socket"},
		{0, []string{"place", at}, "no VM waits"},
		{0, []string{"sca", at, "esx-1"}, "esx-1"},
		{0, []string{"balance", at}, "Moves"},
		{0, []string{"evacuate", at, "esx-1"}, "Moves"},
		{0, []string{"doctor", kept}, "sound: 3 hosts, 6 VMs running"},
	} {
		out, _ := l.run(c.want, c.args...)
		if !strings.Contains(strings.ToLower(out), strings.ToLower(c.says)) {
			t.Errorf("cluster %q does not say %q:\n%s", c.args, c.says, out)
		}
	}
	if got := l.hosts(); slices.ContainsFunc(got, func(h string) bool { return h != "esx-1" }) || l.live.Now().Hosts[0].State != cluster.Connected {
		t.Errorf("commands that only read left the VMs on %q", got)
	}
	if got := l.journals(); len(got) > 0 {
		t.Errorf("commands that only read wrote %q", got)
	}
}

func TestMistakesWithLiveClusters(t *testing.T) {
	l := newLab(t, clustertest.Lopsided())
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"doctor", "--live=memroy://lab/"}, `did you mean "memory"`},
		{[]string{"doctor", "--live=vsphere://lab/"}, "known: memory"},
		{[]string{"doctor", "--live=memory://u:geheim@lab/"}, "remove it"},
		{[]string{"undo", "none.jsonl"}, "undo requires --live"},
		{[]string{"undo", "none.jsonl", at}, "read the journal"},
		{[]string{"balance", at, "--apply", "--dry-run"}, "contradicts"},
		{[]string{"watch"}, "watch requires --live"},
		{[]string{"watch", at, "--format=xml"}, "must be text or lines"},
		{[]string{"watch", at, "--interval=1ms"}, "at least 1s"},
		{[]string{"watch", at, "--ledger=live_test.go"}, "not a ledger"},
	} {
		_, complaint := l.run(cli.ExitMistake, c.args...)
		wants(t, complaint, c.says)
		if strings.Contains(complaint, "geheim") {
			t.Errorf("a secret in %q", complaint)
		}
	}
	// These are wrong arguments, which the program makes mistakes of.
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"doctor", at, "lab.yaml"}, "--live replaces SNAPSHOT: remove lab.yaml"},
		{[]string{"balance", at, "--apply", "--parallel=0"}, "--parallel 0: must be at least 1"},
		{[]string{"doctor", "lab.yaml", "--observe=5m"}, "--observe requires --live"},
		{[]string{"balance", "lab.yaml", "--apply"}, "--apply requires --live"},
		{[]string{"balance", at, "--journal=j"}, "--journal requires --apply"},
	} {
		_, complaint := l.run(cli.ExitTrouble, c.args...)
		wants(t, complaint, c.says)
	}
}

func TestBalanceIsAppliedAndUndone(t *testing.T) {
	l := newLab(t, crowded())
	before := l.hosts()
	out, progress := l.run(0, "balance", at, "--apply")
	wants(t, out, "Moves\n", " changes made\n", "To undo: plimsoll cluster undo "+l.journals()[0])
	wants(t, progress, "1/", ": made in ")
	after := l.hosts()
	if slices.Equal(before, after) {
		t.Fatalf("nothing moved: %q", after)
	}
	if report, _ := l.run(0, "doctor", at); strings.Contains(report, "Moves\n") {
		t.Errorf("after the moves, more are recommended:\n%s", report)
	}
	l.run(0, "undo", l.journals()[0], at)
	if got := l.hosts(); !slices.Equal(got, before) {
		t.Errorf("after the undo the VMs are on %q, before on %q", got, before)
	}
	out, _ = l.run(0, "undo", l.journals()[0], at)
	wants(t, out, "There is nothing to undo")
	if len(l.journals()) != 2 {
		t.Errorf("journals %q: want that of the plan and that of its undo", l.journals())
	}
}

func TestEvacuationIsAppliedAndUndone(t *testing.T) {
	l := newLab(t, clustertest.Sound())
	before := l.hosts()
	out, _ := l.run(0, "evacuate", at, "esx-1", "esx-1", "--apply", "--json", "--journal", filepath.Join(l.state, "mine"))
	var told struct {
		Plan    map[string]any
		Applied struct{ Changes []map[string]any }
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil || len(told.Plan) == 0 {
		t.Fatalf("%v in %s", err, out)
	}
	if n := len(told.Applied.Changes); n != 3 || told.Applied.Changes[2]["what"] != "made" {
		t.Errorf("changes %v", told.Applied.Changes)
	}
	if got := l.live.Now().Hosts[0].State; got != cluster.Maintenance || slices.Contains(l.hosts(), "esx-1") {
		t.Errorf("esx-1 is %s, VMs are on %q", got, l.hosts())
	}
	out, _ = l.run(0, "evacuate", at, "esx-1", "esx-1", "--apply")
	wants(t, out, "There was nothing to change")
	l.run(0, "undo", filepath.Join(l.state, "mine"), at)
	if got := l.live.Now().Hosts[0].State; got != cluster.Connected || !slices.Equal(l.hosts(), before) {
		t.Errorf("after the undo esx-1 is %s, VMs are on %q", got, l.hosts())
	}
}

func TestRefusedPlansChangeNothing(t *testing.T) {
	stuck := clustertest.Sound()
	stuck.Rules = []cluster.Rule{{Name: "licence", Kind: cluster.OnHosts, Must: true, VMs: []cluster.VMID{0}, Hosts: []cluster.HostID{0}}}
	l := newLab(t, stuck)
	_, complaint := l.run(cli.ExitVerdict, "evacuate", at, "esx-1", "--apply")
	wants(t, complaint, "VMs that must move and cannot: 1; nothing was changed")
	_, complaint = l.run(cli.ExitMistake, "evacuate", at, "esx-3", "--apply", "--journal", filepath.Join("live_test.go", "journal"))
	wants(t, complaint, "create the journal: ", "specify a file in a writable folder; nothing was changed")
	l.live.Deny(live.Maintain, "Host.Config.Maintenance on esx-2")
	_, complaint = l.run(cli.ExitMistake, "evacuate", at, "esx-2", "--apply")
	wants(t, complaint, "the account lacks privileges to maintain: Host.Config.Maintenance on esx-2; nothing was changed")
	if len(l.journals()) > 0 {
		t.Errorf("a plan that was refused has a journal")
	}
}

func TestSurpriseEndsAPlan(t *testing.T) {
	l := newLab(t, crowded())
	moved := 0
	l.live.OnMove(livetest.Hooks{After: func(string, string) error {
		if moved++; moved == 2 {
			return errors.New("storage is full")
		}
		return nil
	}})
	out, complaint := l.run(cli.ExitVerdict, "balance", at, "--apply")
	wants(t, out, "Stopped: ", "storage is full", "not begun")
	wants(t, complaint, "the plan was not carried out: ")
	l.live.OnMove(livetest.Hooks{})
	if err := l.live.MoveBy("DRS", "a-1", "esx-3"); err != nil {
		t.Fatal(err)
	}
	_, complaint = l.run(cli.ExitVerdict, "undo", l.journals()[0], at)
	wants(t, complaint, "left alone: 1")
	if got := l.live.Host("a-1"); got != "esx-3" {
		t.Errorf("the undo took a-1 to %s, where DRS had moved it to esx-3", got)
	}
}

// A journal whose program was killed is settled by the next command that changes the cluster.
func TestJournalOfAKilledProgramIsSettled(t *testing.T) {
	l := newLab(t, crowded())
	l.run(0, "balance", at, "--apply")
	name := l.journals()[0]
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(name, []byte(strings.Join(lines[:2], "")), 0o600); err != nil { // after the first intent
		t.Fatal(err)
	}
	_, note := l.run(0, "balance", at, "--apply")
	wants(t, note, "an earlier plimsoll ended after it had begun 1 of", "was made:", "cluster undo "+name)
	if _, note = l.run(0, "balance", at, "--apply"); strings.Contains(note, "earlier") {
		t.Errorf("settled again: %s", note)
	}
}

// While one process changes a cluster, others are refused.
func TestOneApplierAtATime(t *testing.T) {
	l := newLab(t, crowded())
	tried := false
	l.live.OnMove(livetest.Hooks{After: func(string, string) error {
		if !tried {
			tried = true
			_, complaint := l.run(cli.ExitMistake, "balance", at, "--apply")
			wants(t, complaint, "is changing memory://lab/: wait until it ends")
		}
		return nil
	}})
	l.run(0, "balance", at, "--apply")
	if !tried {
		t.Error("nothing moved")
	}
}

func TestWatchContinuesWithItsLedger(t *testing.T) {
	l := newLab(t, crowded())
	ledger := filepath.Join(t.TempDir(), "ledger")
	out, _ := l.run(0, "watch", at, "--for=50ms", "--ledger", ledger)
	wants(t, out, "begin       watching sound: 3 hosts, 6 VMs running\n", "recommend   move a-1 from esx-1 to esx-2: ")
	if err := l.live.MoveBy("plimsoll", "a-1", "esx-2"); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // times of rounds are whole seconds
	out, _ = l.run(0, "watch", at, "--for=50ms", "--ledger", ledger, "--format=lines")
	var kinds []string
	for line := range strings.Lines(out) {
		var told struct{ Kind, Text string }
		if err := json.Unmarshal([]byte(line), &told); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		kinds = append(kinds, told.Kind)
	}
	if len(kinds) < 2 || kinds[0] != "begin" || !slices.Contains(kinds, "prediction") {
		t.Errorf("the second watch tells %q:\n%s", kinds, out)
	}
	if report, _ := l.run(0, "doctor", at, "--ledger", ledger); !strings.Contains(report, "Outcome of the last round") {
		t.Errorf("the doctor does not know the ledger of the watch:\n%s", report)
	}
}

// A watch that has seen nothing in its time says so.
func TestWatchWithoutTime(t *testing.T) {
	l := newLab(t, clustertest.Lopsided())
	_, complaint := l.run(cli.ExitTrouble, "watch", at, "--for=1ns")
	wants(t, complaint, "watch memory://lab/: --for 1ns was over before the cluster was read: set a longer time")
}

// A watch ends when nobody reads it any more, even where nothing happens.
func TestWatchEndsWithItsReader(t *testing.T) {
	l := newLab(t, clustertest.Lopsided())
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	cmd := clustercmd.Command(&cli.Screen{Out: console.NewWriter(writer), Err: new(bytes.Buffer)}, []live.Kind{l.live.Kind()})
	cmd.SetArgs([]string{"watch", at, "--interval=1h"})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(t.Context()) }()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil || !strings.Contains(line, "watching sound: 3 hosts") {
		t.Errorf("the first line is %q, %v", line, err)
	}
	if err := errors.Join(reader.Close(), <-ended); err != nil {
		t.Error(err)
	}
}

// VMs that are off are started where the engine places them, and shut down by the undo.
func TestPlaceApply(t *testing.T) {
	c := crowded()
	c.VMs[0].Host, c.VMs[1].Host = cluster.Nowhere, cluster.Nowhere
	l := newLab(t, c)
	out, _ := l.run(0, "place", "a-1", "a-2", at, "--apply")
	wants(t, out, "a-1 on esx-", "2 of 2 changes made", "start a-1 on esx-")
	if on := l.hosts(); on[0] == "" || on[1] == "" || on[0] == "esx-1" {
		t.Errorf("the VMs are on %q", on)
	}
	l.run(0, "undo", l.journals()[0], at)
	if on := l.hosts(); on[0] != "" || on[1] != "" || on[2] != "esx-1" {
		t.Errorf("after the undo the VMs are on %q", on)
	}
	l.live.Edit(func(c *cluster.Cluster) { c.VMs[0].CPU.Reservation = 1 << 40 })
	out, _ = l.run(1, "place", "a-1", at, "--apply")
	wants(t, out, "a-1 nowhere", "There was nothing to change")
	_, complaint := l.run(2, "place", "a-3", at, "--apply")
	wants(t, complaint, "VM a-3 runs on esx-1 already")
}
