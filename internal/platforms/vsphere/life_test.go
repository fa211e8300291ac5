package vsphere

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/agent/optical"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/agent/tether"
	"plimsoll/internal/guest/disk"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/vsphere/appliance"
)

const dataSize = 3 << 20

// pretended is a guest with a disk, in which every command succeeds.
type pretended struct {
	name string
	mu   sync.Mutex
	ran  []string
}

func (p *pretended) Name() string { return p.name }

func (p *pretended) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ran = append(p.ran, strings.Join(c.Argv, " "))
	text := "done\n"
	if c.Argv[0] == "ls" {
		text = "sda\n"
	}
	_, err := io.WriteString(c.Stdout, text)
	return platform.Result{}, err
}

func (p *pretended) ReadFile(_ context.Context, name string) ([]byte, error) {
	if name == "/sys/block/sda/size" {
		return fmt.Append(nil, dataSize/512), nil
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

func (p *pretended) WriteFile(context.Context, string, []byte) error { return nil }

// pretender has an agent connect for each VM that is powered on, with the ticket on its CD. A VM is
// off when its agent's session was ended.
type pretender struct {
	t     *testing.T
	model *simulator.Model

	mu     sync.Mutex
	lives  map[types.ManagedObjectReference]life
	boots  int
	guests []*pretended
	mute   bool // agents do not connect
}

// life is one from power-on to power-off.
type life struct {
	began time.Time
	end   context.CancelCauseFunc
}

func pretend(t *testing.T, model *simulator.Model) *pretender {
	p := &pretender{t: t, model: model, lives: map[types.ManagedObjectReference]life{}}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for ctx.Err() == nil {
			p.look(ctx, &work)
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { cancel(); work.Wait() })
	return p
}

func (p *pretender) look(ctx context.Context, work *sync.WaitGroup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	on := map[types.ManagedObjectReference]time.Time{} // when they were powered on
	for _, e := range p.model.Map().All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		call := *p.model.Service.Context
		var cd string
		call.WithLock(vm, func() {
			if at := vm.Runtime.BootTime; at != nil && vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && strings.HasPrefix(vm.Name, "plimsoll-") {
				on[vm.Self] = *at
			}
			if drive, err := object.VirtualDeviceList(vm.Config.Hardware.Device).FindCdrom(""); err == nil {
				if back, is := drive.Backing.(*types.VirtualCdromIsoBackingInfo); is {
					cd = back.FileName
				}
			}
		})
		began, is := on[vm.Self]
		has := p.lives[vm.Self]
		if !is || has.began.Equal(began) {
			continue
		}
		if has.end != nil {
			has.end(errors.New("powered off"))
		}
		own, end := context.WithCancelCause(ctx)
		p.lives[vm.Self] = life{began, end}
		p.boots++
		if p.mute {
			continue
		}
		g := &pretended{}
		p.guests = append(p.guests, g)
		work.Go(func() {
			if err := p.serve(own, g, cd); err == nil { // the lab has ended the session: the guest powers off
				vm.PowerOffVMTask(&call, &types.PowerOffVM_Task{This: vm.Self})
			}
		})
	}
	for ref, has := range p.lives {
		if _, is := on[ref]; !is {
			has.end(errors.New("powered off"))
			delete(p.lives, ref)
		}
	}
}

// serve is what the agent does.
func (p *pretender) serve(ctx context.Context, g *pretended, cd string) error {
	h := hypervisor{model: p.model}
	name, err := h.file(cd)
	if err != nil {
		p.t.Error(err)
		return err
	}
	image, err := os.ReadFile(name)
	if err != nil {
		p.t.Error(err)
		return err
	}
	text, err := optical.File(bytes.NewReader(image), tether.File)
	if err != nil {
		p.t.Error(err)
		return err
	}
	ticket, err := tether.Parse(text)
	if err != nil {
		p.t.Error(err)
		return err
	}
	g.name = ticket.Name
	conn, err := tether.Dial(ctx, ticket)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	return remote.Server{Machine: g}.Serve(ctx, conn)
}

// cut ends all lives as a loss of power does.
func (p *pretender) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, has := range p.lives {
		has.end(errors.New("cut"))
	}
}

func (p *pretender) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.boots
}

// off powers all VMs of ours off.
func (p *pretender) off() {
	for _, e := range p.model.Map().All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		if call := *p.model.Service.Context; strings.HasPrefix(vm.Name, "plimsoll-") {
			vm.PowerOffVMTask(&call, &types.PowerOffVM_Task{This: vm.Self})
		}
	}
}

// settled is a testbed whose appliance is small and uploaded already.
func settled(t *testing.T, change func(*Settings)) (*testbed, *simulator.Model) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	url, model := center(t)
	s := defaults()
	s.URL, s.Listen, s.Lab, s.DiskSize, s.Boot = url, "127.0.0.1:0", "127.0.0.1", dataSize, parameter.Duration(time.Minute)
	change(&s)
	b, err := newTestbed(t.Context(), s, supply.Supply{Kernel: &kernel.Kernel{Packed: "none", Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		nothing(t, model, os.Getenv("XDG_STATE_HOME"))
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 1 { // the test's own folder
			t.Errorf("left are %v, %v", left, err)
		}
	})
	a, err := disk.Pack(b.home.Path, disk.Machine{Name: "small", CPUs: 1, Memory: 256 << 20, Disks: []disk.Source{
		{ReaderAt: bytes.NewReader(make([]byte, 1<<20)), Size: 1 << 20}, {ReaderAt: bytes.NewReader(make([]byte, dataSize)), Size: dataSize},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if b.base, err = b.site.Import(t.Context(), b.record.Prefix+"appliance", b.record.Mark, "", a); err != nil {
		t.Fatal(err)
	}
	return b, model
}

// A VM boots when it is needed, again after a change and after it was lost, and not otherwise.
func TestALife(t *testing.T) {
	b, model := settled(t, func(s *Settings) { s.DRS = false })
	p := pretend(t, model)
	m := b.Machine().(*machine)
	run := func(boots int) {
		t.Helper()
		if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"true"}}); err != nil || string(r.Stdout) != "done\n" {
			t.Fatalf("%q, %v", r.Stdout, err)
		}
		if p.boots != boots {
			t.Errorf("%d boots instead of %d", p.boots, boots)
		}
	}
	run(1)
	run(1)
	if g := p.guests[0]; g.name != machineName || !strings.Contains(strings.Join(g.ran, "\n"), "mount -t ext4 -- /dev/sda /scratch") {
		t.Errorf("%s ran %q", g.name, g.ran)
	}
	if err := m.Reshape(func(g *spec.Guest) error { g.VCPUs, g.Topology = 2, "1x2"; return nil }); err != nil {
		t.Fatal(err)
	}
	c := m.Claims()
	c.CPUShares = 3000
	m.SetClaims(c)
	run(2)
	if has, err := m.slot.vm.Read(t.Context(), dataSize); err != nil || has.CPUs != 2 || has.Cores != 2 || has.CPUShares != 3000 {
		t.Errorf("%+v, %v", has, err)
	}
	if c, err := m.ReadClaims(t.Context()); err != nil || c.CPUShares != 3000 {
		t.Errorf("%+v, %v", c, err)
	}
	if ran := p.guests[0].ran; !strings.Contains(ran[len(ran)-1], "umount") {
		t.Errorf("before the reboot it ran %q", ran)
	}
	far, err := m.agent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.cut()
	<-far.Done()
	run(3)
	c.LatencySensitivity = spec.HighLatency
	m.SetClaims(c)
	if _, err := m.Run(t.Context(), platform.Command{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "all memory must be reserved") {
		t.Errorf("claims that exclude each other: %v", err)
	}
	if a, err := appliance.Open(t.Context(), b.at, b.settings.where()); err != nil {
		t.Error(err)
	} else if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A VM that never answers is powered off, and the error says what to look at. A run that is interrupted meanwhile
// ends at once.
func TestAVMThatDoesNotAnswer(t *testing.T) {
	b, model := settled(t, func(s *Settings) { s.Boot = parameter.Duration(300 * time.Millisecond) })
	p := pretend(t, model)
	p.mute = true
	m := b.Machine()
	_, err := m.Run(t.Context(), platform.Command{Argv: []string{"true"}})
	if err == nil || !strings.Contains(err.Error(), "it took more than 300ms") || !strings.Contains(err.Error(), "must reach 127.0.0.1 from its network") {
		t.Error(err)
	}
	if err := b.vms.First().Reshape(func(g *spec.Guest) error { g.Boot = parameter.Duration(time.Minute); return nil }); err != nil {
		t.Fatal(err)
	}
	on := p.boots
	go func() { // somebody powers the VM off
		for p.count() == on {
			select {
			case <-t.Context().Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
		p.off()
	}()
	if _, err := m.Run(t.Context(), platform.Command{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "has powered off") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("interrupted")) })
	if _, err := m.Run(ctx, platform.Command{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}

// VMs of groups have names and addresses of their own, and there may be too few addresses.
func TestGroups(t *testing.T) {
	b, model := settled(t, func(s *Settings) {
		s.Addresses, s.Gateway = []string{"192.0.2.10/24", "192.0.2.11/24", "192.0.2.12/24"}, "192.0.2.1"
	})
	p := pretend(t, model)
	g := platform.Group{Name: "client", Machines: 2, Settings: parameter.Settings{"vcpus": "2"}}
	all, err := platform.MembersOf(t.Context(), b, g)
	if err != nil || len(all) != 2 || all[0].Name() != "client-1" || all[1].(*machine).Spec().VCPUs != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	names := map[string]bool{}
	for _, guest := range p.guests {
		names[guest.name] = true
	}
	if !names["client-1"] || !names["client-2"] {
		t.Errorf("guests are %v", names)
	}
	g.Machines = 3
	if _, err := b.Members(t.Context(), g); err == nil || !strings.Contains(err.Error(), "addresses for 3 VMs only") {
		t.Errorf("too few addresses: %v", err)
	}
	g.Machines = 1
	if left, err := platform.MembersOf(t.Context(), b, g); err != nil || len(left) != 1 || left[0] != all[0] {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := all[1].ReadFile(t.Context(), "/x"); err == nil || !strings.Contains(err.Error(), "has ended it") {
		t.Errorf("a VM that was removed: %v", err)
	}
	g.Machines = 2 // the address of the VM that was removed is free
	if again, err := platform.MembersOf(t.Context(), b, g); err != nil || len(again) != 2 || again[0] != all[0] || again[1] == all[1] || again[1].(*machine).slot.number != all[1].(*machine).slot.number {
		t.Errorf("%v, %v", again, err)
	}
	for want, settings := range map[string]parameter.Settings{"the same for all groups": {"disk": "1GiB"}, "has 8 vCPUs": {"topology": "2x4"}, "unknown": {"speed": "1"}} {
		if _, err := b.Members(t.Context(), platform.Group{Name: "other", Machines: 1, Settings: settings}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", settings, err, want)
		}
	}
}
