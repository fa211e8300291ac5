package libvirt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/factor"
	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/libvirt/libvirttest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/platformtest"
)

// lab is a daemon, and what guests boot from.
type lab struct {
	libvirttest.Daemon
	files *files
}

func newLab(t *testing.T) lab {
	t.Helper()
	k := guesttest.Kernel(t)
	cache, err := kernel.Folder()
	if err != nil {
		t.Fatal(err)
	}
	daemon := libvirttest.Start(t)
	f, err := newFiles(supply.Supply{Agent: guesttest.Agent(t), Kernel: k, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(f.home.Path) }) // which is there where no test used it up
	return lab{daemon, f}
}

func (l lab) settings() Settings {
	s := Kind().Defaults.(Settings)
	s.URI, s.Accelerator, s.VCPUs = l.URI("qemu", "/session"), "tcg", 2
	return s
}

// nothing says whether anything of a guest is left: domains, processes, files.
func (l lab) nothing(t *testing.T) {
	t.Helper()
	c := l.dial(t)
	if all, err := c.Domains(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("domains are left: %v, %v", all, err)
	}
	if out, err := exec.Command("pgrep", "-f", l.files.home.Path).Output(); err == nil {
		t.Errorf("processes are left: %s", out)
	}
}

func TestARealDaemon(t *testing.T) {
	l := newLab(t)
	for _, tc := range []struct {
		name string
		test func(t *testing.T, l lab)
	}{{"domains are taken", takesDomains}, {"ends with its maker", endsWithItsMaker}, {"a resident", usesAResident}, {"groups", hasGroups}, {"a machine", isAMachine}} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, l) })
	}
}

// takesDomains: libvirt's schema knows every word of the domains that shapes are written as.
func takesDomains(t *testing.T, l lab) {
	files, err := filepath.Glob("../../guest/hardware/testdata/domain-*.xml")
	if err != nil || len(files) < 5 {
		t.Fatalf("domains %v, %v", files, err)
	}
	c := l.dial(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.DefineXML(t.Context(), string(text), libvirt.Validate)
		if err != nil && unix.Access("/dev/kvm", unix.R_OK|unix.W_OK) != nil && strings.Contains(err.Error(), "does not support virt type 'kvm'") {
			t.Logf("%s is not judged: this user may not use KVM", file)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := c.Undefine(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
}

func (l lab) dial(t *testing.T) *libvirt.Conn {
	t.Helper()
	c, err := libvirt.Dial(t.Context(), l.settings().URI)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// domain is a guest without disks.
func (l lab) domain(t *testing.T, name string) string {
	t.Helper()
	archive := l.files.home.File("bare")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(initramfs.Build(f, initramfs.Spec{Init: l.files.supply.Agent, Kernel: l.files.supply.Kernel, Modules: []string{"channel"}}), f.Close()); err != nil {
		t.Fatal(err)
	}
	w, err := hardware.OnThisHost(hardware.Wiring{Accelerator: hardware.TCG, Dir: l.files.home.Path, Kernel: l.files.home.File("kernel"), Initramfs: archive})
	if err != nil {
		t.Fatal(err)
	}
	text, err := hardware.Shape{Name: name, CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: 128 << 20}}.Domain(w)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const makerURI, makerDomain = "PLIMSOLL_TEST_URI", "PLIMSOLL_TEST_DOMAIN"

// TestMain is also the program that makes a guest and is killed.
func TestMain(m *testing.M) {
	if uri := os.Getenv(makerURI); uri != "" {
		c, err := libvirt.Dial(context.Background(), uri)
		if err == nil {
			_, err = c.CreateXML(context.Background(), os.Getenv(makerDomain), libvirt.AutoDestroy)
		}
		fmt.Println(err)
		select {}
	}
	os.Exit(m.Run())
}

// endsWithItsMaker: kill -9 of the program that made a guest ends the guest.
func endsWithItsMaker(t *testing.T, l lab) {
	maker := exec.Command(os.Args[0])
	maker.Env = append(os.Environ(), makerURI+"="+l.settings().URI, makerDomain+"="+l.domain(t, "killed"))
	out, err := maker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := maker.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "<nil>\n" {
		t.Errorf("the maker said %q, %v", said, err)
	}
	c := l.dial(t)
	d, err := c.LookupName(t.Context(), "killed")
	if err != nil {
		t.Error(err)
	}
	if err := maker.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = maker.Wait() // it was killed
	for limit := time.Now().Add(20 * time.Second); ; <-time.After(20 * time.Millisecond) {
		if _, err := c.State(t.Context(), d); libvirt.Missing(err) {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("the guest goes on: %v", err)
		}
	}
	l.nothing(t)
}

// usesAResident: a domain that is there is a machine, and stays.
func usesAResident(t *testing.T, l lab) {
	c := l.dial(t)
	text := strings.Replace(l.domain(t, "resident"), "</devices>", "<channel type='unix'><target type='virtio' name='second'/></channel></devices>", 1)
	d, err := c.CreateXML(t.Context(), text, libvirt.AutoDestroy)
	if err != nil {
		t.Fatal(err)
	}
	s := parameter.Settings{"uri": l.settings().URI, "domain": "resident"}
	for range 2 {
		p, err := Kind().Open(t.Context(), s, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Machine().Run(t.Context(), platform.Command{Argv: []string{"nproc"}})
		if err != nil || strings.TrimSpace(string(r.Stdout)) != "1" {
			t.Errorf("%s%s, %v", r.Stdout, r.Stderr, err)
		}
		facts, err := p.Machine().(platform.Described).Facts(t.Context())
		if err != nil || !slices.Contains(facts, platform.Fact{Name: "guest.processors", Value: "1x1"}) {
			t.Errorf("facts %v, %v", facts, err)
		}
		g, err := p.Machine().(platform.Hosted).Given(t.Context())
		if err != nil || g.Run <= 0 {
			t.Errorf("the host gave %+v, %v", g, err)
		}
		isOfQEMU(t, p.Machine().(platform.Hosted))
		if _, err := p.(platform.Grouped).Members(t.Context(), platform.Group{Name: "web", Machines: 1}); err == nil || !strings.Contains(err.Error(), "omit the setting domain") {
			t.Errorf("groups in a domain: %v", err)
		}
		if _, err := vm.Factors()[0].Get(t.Context(), factor.Env{Machine: p.Machine()}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("the shape of another's domain: %v", err)
		}
		servesAPort(t, p.Machine(), func(ctx context.Context) (*libvirt.Conn, *remote.Machine, error) {
			return join(ctx, l.settings().URI, d, "second")
		})
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	bare := parameter.Settings{"uri": l.URI("test", "/default"), "domain": "test"}
	if _, err := Kind().Open(t.Context(), bare, 0); err == nil || !strings.Contains(err.Error(), "attach-device") {
		t.Errorf("a domain without a channel: %v", err)
	}
	if state, err := c.State(t.Context(), d); err != nil || !state.On() {
		t.Errorf("the domain is %s, %v", state, err)
	}
	if err := c.Destroy(t.Context(), d); err != nil {
		t.Error(err)
	}
	if _, err := Kind().Open(t.Context(), s, 0); !libvirt.Missing(err) {
		t.Errorf("a domain that is not there: %v", err)
	}
}

// servesAPort: the agent serves a port of a machine that has others to do its work, one lab after the
// other, and ends when it is asked to.
func servesAPort(t *testing.T, m platform.Machine, join func(ctx context.Context) (*libvirt.Conn, *remote.Machine, error)) {
	t.Helper()
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"/init", "port", "second"}, Stop: stop})
		if err == nil && r.Exit != 0 {
			err = fmt.Errorf("exit status %d: %s%s", r.Exit, r.Stdout, r.Stderr)
		}
		ended <- err
	}()
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		c, far, err := join(ctx)
		cancel()
		if err != nil {
			t.Error(err)
			break
		}
		if text, err := far.ReadFile(t.Context(), "/proc/uptime"); err != nil || len(text) == 0 {
			t.Errorf("%q, %v", text, err)
		}
		if err := errors.Join(far.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// isOfQEMU finds the process of a machine.
func isOfQEMU(t *testing.T, m platform.Hosted) {
	t.Helper()
	pid, err := m.Process(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || !strings.HasPrefix(string(name), "qemu") {
		t.Errorf("process %d is %q, %v", pid, name, err)
	}
}

// isAMachine: a guest that libvirt runs is a machine like any other; its shape changes when a
// factor is set, which is read back from what the guest sees of itself; its disk keeps what
// lies on it.
func isAMachine(t *testing.T, l lab) {
	s := l.settings()
	b, err := newGroups(s, l.files)
	if err != nil {
		t.Fatal(err)
	}
	m := b.vms.First()
	run := func(argv ...string) string { t.Helper(); return platformtest.Do(t, m, argv...) }
	if got := run("nproc"); got != "2" {
		t.Errorf("%s vCPUs, want 2", got)
	}
	run("mkdir", "-p", "--", b.Scratch())
	if err := m.WriteFile(t.Context(), b.Scratch()+"/kept", []byte("yes")); err != nil {
		t.Fatal(err)
	}
	g, err := m.Given(t.Context())
	if err != nil || g.Run <= 0 || g.Exits >= 0 {
		t.Errorf("the host gave %+v, %v", g, err)
	}
	isOfQEMU(t, m)
	t.Logf("booted in %v; the host gave %+v", m.running.boot, g)
	platformtest.SetAndReadBack(t, m, vm.Factors(), map[string]string{
		"guest.topology": "1x2", "guest.memory": "384MiB", "guest.controller": "virtio-scsi", "guest.vcpus": "2", "guest.nodes": "2", "guest.queues": "2", "guest.parameters": "mitigations=auto",
	})
	if got := run("cat", b.Scratch()+"/kept"); got != "yes" {
		t.Errorf("the disk kept %q", got)
	}
	facts, err := m.Facts(t.Context())
	if err != nil || len(facts) < 7 {
		t.Errorf("%v, %v", facts, err)
	}
	t.Log(facts)
	if caution, err := m.Caution(t.Context()); err != nil || !strings.Contains(caution, "shapes and not speeds") {
		t.Errorf("%q, %v", caution, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(l.files.home.Path); err == nil {
		t.Errorf("%s is left", l.files.home.Path)
	}
	l.nothing(t)
}
