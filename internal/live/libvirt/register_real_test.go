package libvirt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/libvirt/libvirttest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/libvirt/operation"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/owner"
)

// registerAt is the address of hosts on which this test program registers VMs until it is killed.
const registerAt = "PLIMSOLL_TEST_REGISTER"

const registered = 6 // VMs, each registered by a thread

// TestKilledWhileItRegisters runs and kills TestRegisterUntilKilled.
func TestRegisterUntilKilled(t *testing.T) {
	text := os.Getenv(registerAt)
	if text == "" {
		t.Skip("it is a part of another test")
	}
	at, err := live.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := operation.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	lab, err := owner.This(false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Survey(t.Context(), "none", "none")
	if err != nil {
		t.Fatal(err)
	}
	var vms []management.VM
	for n := range registered {
		v := management.VM{Name: fmt.Sprintf("%s%d", owner.Names("killed", lab), n), Host: s.Hosts[n%len(s.Hosts)]}
		out, err := owner.Perform(t.Context(), p, management.Order{Kind: management.Create, Name: v.Name, Host: v.Host, Mark: owner.Note("killed", lab), Size: management.Size{CPUs: 1, Memory: 16 << 20, Disk: 1 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		v.ID = out.VM
		vms = append(vms, v)
	}
	err = owner.Each(vms, len(vms), func(v management.VM) error {
		for {
			out, err := owner.Perform(t.Context(), p, management.Order{Kind: management.Register, VM: v.ID, From: v.Host})
			if err != nil || out.VM != v.ID {
				return fmt.Errorf("%s: registered as %q, %w", v.Name, out.VM, err)
			}
			fmt.Println("registered")
		}
	})
	t.Fatalf("it was not killed: %v", err)
}

// Everything left by a process killed while it registers VMs is found and removed. Objects of
// others stay.
func TestKilledWhileItRegisters(t *testing.T) {
	t.Parallel()
	h := lab(t)
	p, err := operation.Open(t.Context(), h.at)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	f := p.(management.FileStore)
	defer somebodyElse(t, h)()
	lost, kills := 0, 0
	for n := 0; n < effort.Rate(6, 20) || lost == 0 && n < 20; n++ {
		kills++
		child := exec.Command(os.Args[0], "-test.run=^TestRegisterUntilKilled$")
		child.Env = append(os.Environ(), registerAt+"="+h.at.String())
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said := bufio.NewReader(out)
		for n := rand.IntN(60); n >= 0; n-- { // killed at a random time
			if line, err := said.ReadString('\n'); line != "registered\n" {
				_ = child.Process.Kill()
				t.Fatalf("it said %q, %v", line, err)
			}
		}
		if n == 0 {
			alive(t, p)
		}
		if err := errors.Join(child.Process.Kill(), ignoreKilled(child.Wait())); err != nil {
			t.Fatal(err)
		}
		lost += leavesNothing(t, p, h.at, n%2 == 0)
	}
	t.Logf("%d VMs of %d kills were lost to their daemons, and found by their volumes", lost, kills)
	if lost == 0 {
		t.Error("no kill hit a VM between its halves")
	}
	files, err := os.ReadDir(h.folder)
	strays, also := f.Strays(t.Context(), owner.Prefix)
	if err = errors.Join(err, also); err != nil || len(files) != 2 || !slices.Equal(strays, []string{filepath.Join(h.folder, older)}) {
		t.Errorf("of somebody else there are %v, of whom the strays %q, %v", files, strays, err)
	}
	if err := f.Erase(t.Context(), filepath.Join(h.folder, borrowed)); err == nil {
		t.Error("the disk of a domain is erased")
	}
}

func ignoreKilled(err error) error {
	if killed := (*exec.ExitError)(nil); errors.As(err, &killed) {
		return nil
	}
	return err
}

// alive: nothing of a running process counts as left over.
func alive(t *testing.T, p management.Platform) {
	t.Helper()
	for range 20 {
		all, err := owner.Find(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if o.Life == owner.Dead {
				t.Fatalf("the process runs, and left over is %v", o)
			}
		}
	}
}

// leavesNothing cleans up after a killed process, by restore --live or by the owner's next
// study, and returns the number of VMs left.
func leavesNothing(t *testing.T, p management.Platform, at live.Address, restore bool) (lost int) {
	t.Helper()
	dead := func() (list []owner.Orphan) {
		all, err := owner.Find(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(all, func(o owner.Orphan) bool { return o.Life != owner.Dead })
	}
	all := dead()
	// The daemons may still execute calls of the process.
	for limit := time.Now().Add(10 * time.Second); len(all) != registered && time.Now().Before(limit); {
		all = dead()
	}
	for _, o := range all {
		if o.Files != "" {
			lost++
		}
	}
	if len(all) != registered {
		t.Errorf("found %v, want %d VMs", all, registered)
	}
	var err error
	if restore {
		err = owner.Remove(t.Context(), p, all, func(owner.Orphan) {})
	} else {
		l, env := loadOf(t, at, "killed")
		err = l.Clean(t.Context(), env)
	}
	if left := dead(); err != nil || len(left) > 0 {
		t.Errorf("removed with %v, left are %v", err, left)
	}
	return lost
}

const (
	borrowed = "plimsoll-op-borrowed.qcow2"
	older    = "plimsoll-op-older.qcow2"
)

// somebodyElse defines a domain with a disk named like ours, and creates another such volume.
func somebodyElse(t *testing.T, h hosts) (remove func()) {
	t.Helper()
	for _, name := range []string{borrowed, older} {
		if err := os.WriteFile(filepath.Join(h.folder, name), make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := libvirt.Dial(t.Context(), h.daemons[1].URI("qemu", "/session"))
	if err != nil {
		t.Fatal(err)
	}
	text := libvirttest.Burner{Name: "production"}.Domain(t, h.daemons[1].Folder)
	disk := fmt.Sprintf("<devices><disk type='volume'><source pool='%s' volume='%s'/><target dev='vda'/></disk>", libvirttest.Pool, borrowed)
	d, err := c.DefineXML(t.Context(), strings.Replace(text, "<devices>", disk, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		err := errors.Join(c.Undefine(context.Background(), d), c.Close())
		for _, name := range []string{borrowed, older} {
			err = errors.Join(err, os.Remove(filepath.Join(h.folder, name)))
		}
		if err != nil {
			t.Error(err)
		}
	}
}
