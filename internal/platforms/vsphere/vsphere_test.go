package vsphere

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/effort"
	"plimsoll/internal/factor"
	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/disk"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/live"
	"plimsoll/internal/parameter"
	"plimsoll/internal/vsphere/appliance"
	"plimsoll/internal/vsphere/sim"
)

// center is a simulated vCenter with a cluster of two hosts, and the address of the cluster.
func center(t *testing.T) (string, *simulator.Model) {
	t.Helper()
	s := generate.Typical(2, 7)
	s.VMs, s.Datastores, s.Networks = 2, 1, 1
	c, _ := generate.Cluster(s)
	served, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{c}, Listen: "127.0.0.1:0", User: "operator", Password: "secret-of-the-test", Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	})
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret-of-the-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("vsphere://operator@%s?password=file:%s&thumbprint=%s", served.URL().Host, password, served.Thumbprints().SHA256), served.Model
}

// nothing checks that no VM and, in a folder of state, no record of ours is left.
func nothing(t *testing.T, model *simulator.Model, state string) {
	t.Helper()
	for _, e := range model.Map().All("VirtualMachine") {
		if name := e.Entity().Name; strings.HasPrefix(name, "plimsoll-") {
			t.Errorf("VM %s is left", name)
		}
	}
	if left := records(t, state); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// records lists those in a folder of state.
func records(t *testing.T, state string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(state, "plimsoll", machineName, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

const makerURL = "PLIMSOLL_TEST_URL"

// TestMain is also the program that makes VMs and is killed.
func TestMain(m *testing.M) {
	if url := os.Getenv(makerURL); url != "" {
		fmt.Println(maker(url))
		select {}
	}
	os.Exit(tests(m))
}

// tests runs them with a folder of their own for records. Tests that boot guests run in parallel, so that it is
// the same for all of them.
func tests(m *testing.M) int {
	folder, err := os.MkdirTemp("", "plimsoll-test-vsphere-")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", folder)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(folder)
	effort.CollectSeldom()
	return m.Run()
}

// maker makes VMs as a run does, and then nothing.
func maker(url string) error {
	s := defaults()
	s.URL = url
	at, err := s.check()
	if err != nil {
		return err
	}
	site, err := appliance.Open(context.Background(), at, s.where())
	if err != nil {
		return err
	}
	r, err := newRecord(s)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "disks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	a, err := disk.Pack(folder, disk.Machine{Name: "small", CPUs: 1, Memory: 256 << 20, Disks: []disk.Source{{ReaderAt: bytes.NewReader(make([]byte, 1<<20)), Size: 1 << 20}}})
	if err != nil {
		return err
	}
	base, err := site.Import(context.Background(), r.Prefix+"appliance", r.Mark, "", a)
	if err != nil {
		return err
	}
	v, err := base.Clone(context.Background(), r.Prefix+"vm-1", r.Mark, "")
	if err != nil {
		return err
	}
	return v.On(context.Background())
}

// What a killed run has made is removed by the next sweep, and nothing of a run that lives.
func TestWhatAKilledRunLeavesIsRemoved(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	url, model := center(t)
	before := len(model.Map().All("VirtualMachine"))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), makerURL+"="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "<nil>\n" {
		t.Errorf("the maker said %q, %v", said, err)
	}
	if lines, err := sweep(t.Context()); err != nil || len(lines) > 0 {
		t.Errorf("a run that lives: %q, %v", lines, err)
	}
	if n := len(model.Map().All("VirtualMachine")); n != before+2 {
		t.Errorf("%d VMs instead of %d", n, before+2)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	lines, err := sweep(t.Context())
	if err != nil || len(lines) != 2 || !strings.Contains(strings.Join(lines, "\n"), "-vm-1 of a dead run") || strings.Contains(strings.Join(lines, ""), "password") {
		t.Errorf("%q, %v", lines, err)
	}
	nothing(t, model, os.Getenv("XDG_STATE_HOME"))
	if n := len(model.Map().All("VirtualMachine")); n != before {
		t.Errorf("%d VMs instead of %d", n, before)
	}
}

// A record of a vCenter that does not answer stays for the next time.
func TestARecordIsKept(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := defaults()
	s.URL = "vsphere://operator@127.0.0.1:1/DC/C?password=file:" + password
	r, err := newRecord(s)
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := sweep(t.Context()); err != nil || len(lines) > 0 {
		t.Errorf("a run that lives: %q, %v", lines, err)
	}
	if err := r.leave(); err != nil {
		t.Fatal(err)
	}
	if _, err := sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "remove the VMs "+r.Prefix+"* of a dead run") {
		t.Error(err)
	}
	if left := records(t, os.Getenv("XDG_STATE_HOME")); len(left) != 1 {
		t.Errorf("records are %q", left)
	}
	if err := os.WriteFile(r.name(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}

// Records are read from other folders than the one of the run.
func TestRecordedAddresses(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"vsphere://u@h/DC/C?password=file:pw&ca=ca.pem":    "file:" + here + "/pw " + here + "/ca.pem",
		"vsphere://u@h/DC/C?password=file:/pw":             "file:/pw ",
		"vsphere://u@h/DC/C?password=env:PW&thumbprint=AA": "env:PW ",
	} {
		text, err := absolute(address)
		if err != nil {
			t.Fatal(err)
		}
		at, err := live.ParseAddress(text)
		if got := at.Parameters["password"] + " " + at.Parameters["ca"]; err != nil || got != want || at.Path != "DC/C" || at.User != "u" {
			t.Errorf("%s is recorded as %s, %v", address, text, err)
		}
	}
}

// Mistakes are named before a vCenter is reached.
func TestMistakes(t *testing.T) {
	url := "vsphere://operator@127.0.0.1:1/DC/C?password=file:/none"
	for want, settings := range map[string]parameter.Settings{
		"url is missing":                 nil,
		"must begin with vsphere://":     {"url": "https://127.0.0.1/sdk"},
		"contains a password":            {"url": "vsphere://u:p@127.0.0.1/C"},
		"has 8 vCPUs":                    {"url": url, "topology": "2x4"},
		"topology auto":                  {"url": url, "topology": "auto"},
		"neither dies nor threads":       {"url": url, "topology": "1x2x2", "vcpus": "4"},
		"multiple of 4MiB":               {"url": url, "memory": "257MiB"},
		"all memory must be reserved":    {"url": url, "latency_sensitivity": "high"},
		"at most the memory":             {"url": url, "memory_reservation": "1GiB"},
		"with the length of its network": {"url": url, "addresses": "192.0.2.7"},
		"beside addresses":               {"url": url, "gateway": "192.0.2.1"},
		"must be vmx-14 or newer":        {"url": url, "hardware": "vmx-9"},
		"lab \"me\"":                     {"url": url, "lab": "me"},
	} {
		if _, err := Kind().Open(t.Context(), settings, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", settings, err, want)
		}
	}
}

// Levels are judged without a vCenter.
func TestFactorsAreChecked(t *testing.T) {
	g := defaults().Guest
	g.VCPUs = 4
	m := &machine{Next: spec.NewNext(machineName, g), claims: defaults().Claims, slot: slot{bed: &testbed{}}}
	factors := map[string]factor.Factor{}
	for _, f := range vm.Factors() {
		factors[f.Name] = f
	}
	for _, c := range []struct{ factor, level, canonical, wrong string }{
		{"guest.topology", "spread", "4x1", ""}, {"guest.topology", "2x2", "2x2", ""}, {"guest.topology", "auto", "", "topology auto"},
		{"guest.controller", "nvme", "nvme", ""}, {"guest.controller", "virtio-blk", "", "must be pvscsi"},
		{"guest.nic", "vmxnet3", "vmxnet3", ""}, {"guest.nic", "virtio-net", "", "must be vmxnet3"},
		{"guest.queues", "2", "", "not a setting of vSphere"}, {"guest.parameters", "quiet", "", "the same for all VMs"},
		{"guest.cache", "none", "", "only platform guest"}, {"guest.cpu_shares", "3000", "3000", ""}, {"guest.cpu_shares", "many", "", "number of shares"},
		{"guest.memory_reservation", "1GiB", "1GiB", ""}, {"guest.latency_sensitivity", "low", "", "normal or high"},
	} {
		got, err := factors[c.factor].Check(t.Context(), factor.Env{Machine: m}, c.level)
		if c.wrong == "" && (err != nil || got != c.canonical) || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s at %s is %q, %v", c.factor, c.level, got, err)
		}
	}
}

// The address of a run's cluster is one of live clusters.
func TestTheAddressIsThatOfALiveCluster(t *testing.T) {
	s := defaults()
	s.URL = "vsphere://operator@vcenter.example/DC/C?password=env:X&ca=/etc/ca.pem"
	at, err := s.check()
	if want, bad := live.ParseAddress(s.URL); bad != nil || err != nil || at.String() != want.String() || at.Parameters["ca"] != "/etc/ca.pem" {
		t.Errorf("%+v, %v", at, err)
	}
}
