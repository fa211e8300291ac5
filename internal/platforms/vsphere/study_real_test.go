package vsphere

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/effort"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/measure"
	"plimsoll/internal/vsphere/vspheretest"
)

const wholeStudy = `study: threads-on-vsphere
question: How much more does a second thread do in a VM with two vCPUs?
platform:
  vsphere: {url: %q, listen: "127.0.0.1:0", lab: 10.0.2.2, vcpus: 2, memory: 384MiB, disk: 64MiB}
workload:
  processor: {working_set: 64KiB, unit: 1KiB, rate: 40/s}
factors:
  processor.threads: [1, 2]
measure: {settle: 10ms, warmup: 500ms, window: 1s, longest: 3s, interval: 250ms, blocks: 2, retries: 1}
headline: [units]
monitor:
  vsphere: {address: %q, vms: ["plimsoll-*"], hosts: ["*"]}
`

// user is somebody at a command line.
type user struct {
	*testing.T
	dir, program, temp, state string
}

func (u *user) command(args ...string) *exec.Cmd {
	c := exec.Command(u.program, args...)
	c.Dir, c.Env = u.dir, append(os.Environ(), "TMPDIR="+u.temp, "XDG_STATE_HOME="+u.state)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// newUser has both programs, built from this source, a study and folders of its own.
func newUser(t *testing.T, url string) *user {
	u := &user{t, t.TempDir(), "", t.TempDir(), t.TempDir()}
	u.program = filepath.Join(u.dir, "plimsoll")
	build := exec.Command("go", "build", "-trimpath", "-o", u.program, "plimsoll/cmd/plimsoll")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if err := os.Symlink(guesttest.Agent(t), filepath.Join(u.dir, "plimsoll-agent")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(u.dir, "study.yaml"), fmt.Appendf(nil, wholeStudy, url, url), 0o600); err != nil {
		t.Fatal(err)
	}
	return u
}

// A study runs from the command line on a VM of a simulated vCenter that has a real life in QEMU.
// What a run that was interrupted or killed has made is removed.
func TestRealStudy(t *testing.T) {
	guesttest.Firmware(t)
	guesttest.Kernel(t)
	if _, err := exec.LookPath("qemu-img"); err != nil {
		t.Skip("qemu-img is missing (./setup test installs it)")
	}
	url, model := center(t)
	uploads := vspheretest.KeepUploads(model)
	stop := alive(t, model, uploads)
	u := newUser(t, url)
	out, err := u.command("run", "study.yaml", "--out", "out").CombinedOutput()
	t.Logf("%s", out)
	if err != nil && !strings.Contains(string(out), "void") { // a busy machine measures badly, and says so
		t.Fatal(err)
	}
	u.recorded()
	if n := len(stop()); n != 1 { // the checks before a run are of the same VM
		t.Errorf("%d boots instead of 1", n)
	}
	sizes := map[int]bool{} // the disks of an appliance differ in size
	for _, body := range uploads() {
		sizes[len(body)] = true
	}
	if n := len(uploads()); n < 2 || n != len(sizes) {
		t.Errorf("%d disks were uploaded, with %d sizes", n, len(sizes))
	}
	nothing(t, model, u.state)

	t.Run("ended in the middle", func(t *testing.T) {
		effort.Deep(t, "end runs in the middle")
		u.T = t
		endsRuns(t, u, model)
	})
	if left, err := os.ReadDir(u.temp); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// endsRuns interrupts and kills runs. Nobody gives their VMs a life: the runs wait for their agents.
func endsRuns(t *testing.T, u *user, model *simulator.Model) {
	for _, how := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		c := u.command("run", "study.yaml", "--out", how.String())
		var said strings.Builder
		c.Stdout, c.Stderr = &said, &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		u.poweredOn(model, &said)
		if err := c.Process.Signal(how); err != nil {
			t.Error(err)
		}
		_ = c.Wait() // it was ended
		if how == syscall.SIGKILL {
			out, err := u.command("restore").CombinedOutput()
			if err != nil || !strings.Contains(string(out), "-vm-1 of a dead run from vsphere://operator@") {
				t.Errorf("restore: %v, %s", err, out)
			}
			t.Logf("%s", out)
		} else if c.ProcessState.ExitCode() == 0 {
			t.Errorf("a run that was interrupted ends with 0: %s", said.String())
		}
		nothing(t, model, u.state)
	}
}

// recorded checks what was measured in the VM.
func (u *user) recorded() {
	u.Helper()
	files, err := filepath.Glob(filepath.Join(u.dir, "out", "trials", "*", "record.json"))
	if err != nil {
		u.Fatal(err)
	}
	measured := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			u.Fatal(err)
		}
		var r measure.Record
		if err := json.Unmarshal(text, &r); err != nil {
			u.Fatal(err)
		}
		if r.Counts["operations"] > 0 {
			measured++
		}
		u.Logf("counters %v, missing %q", r.Counters, r.Missing)
		if _, counted := r.Counters["vsphere.vms"]; !counted {
			u.Errorf("%s: the vCenter's counters of the VM are missing", name)
		}
	}
	if measured < 2 {
		u.Errorf("%d trials were measured", measured)
	}
	if text, err := os.ReadFile(filepath.Join(u.dir, "out", "testbed.json")); err != nil || !strings.Contains(string(text), `"vsphere.vm"`) {
		u.Errorf("testbed %s, %v", text, err)
	}
}

// poweredOn waits for a VM of a run.
func (u *user) poweredOn(model *simulator.Model, said *strings.Builder) {
	u.Helper()
	for until := time.Now().Add(2 * time.Minute); ; <-time.After(50 * time.Millisecond) {
		for _, e := range model.Map().All("VirtualMachine") {
			vm := e.(*simulator.VirtualMachine)
			on := false
			ctx := *model.Service.Context
			ctx.WithLock(vm, func() { on = vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn })
			if on && strings.HasPrefix(vm.Name, "plimsoll-") {
				return
			}
		}
		if time.Now().After(until) {
			u.Fatalf("no VM was powered on: %s", said.String())
		}
	}
}
