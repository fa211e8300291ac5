// Package libvirttest starts libvirt daemons of their own for tests: with sockets and
// folders that nobody else knows, and no rights beyond those of a user.
package libvirttest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Daemon is a libvirt daemon of a test.
type Daemon struct {
	Folder  string
	socket  string
	program string
	host    string // the name that it believes its host to have; empty for this machine's
	process *os.Process
	ended   chan error
	said    *bytes.Buffer
}

// URI is the address of a driver of the daemon, such as qemu, /session.
func (d Daemon) URI(driver, path string) string {
	return driver + "+unix://" + path + "?socket=" + d.socket
}

const settings = `stdio_handler = "file"
security_driver = "none"
cgroup_controllers = []
remember_owner = 0
`

// Start starts a daemon that ends with the test, or by itself ten minutes after its last
// client. The test is skipped where PLIMSOLL_REAL=1 or libvirt is missing.
func Start(t testing.TB) Daemon {
	t.Helper()
	d := prepare(t, "", "")
	d.Run(t)
	return *d
}

// Hosts starts a daemon for each name, which believes to be alone on a host of that name.
func Hosts(t testing.TB, names ...string) []*Daemon {
	t.Helper()
	return HostsSharing(t, "", names...)
}

// Pool is the storage pool of daemons that share a folder.
const Pool = "shared"

// HostsSharing is Hosts whose daemons have a storage pool in a folder.
func HostsSharing(t testing.TB, folder string, names ...string) []*Daemon {
	t.Helper()
	all := make([]*Daemon, len(names))
	for i, name := range names {
		all[i] = prepare(t, name, folder)
		all[i].launch(t)
	}
	for _, d := range all {
		d.await(t)
	}
	return all
}

// prepare writes the configuration of a daemon, which ends with the test.
func prepare(t testing.TB, host, pool string) *Daemon {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start a libvirt daemon")
	}
	program, err := exec.LookPath("libvirtd")
	if err != nil {
		if program = "/usr/sbin/libvirtd"; !there(program) {
			t.Skip("no libvirt daemon was started: libvirtd is missing (./setup test installs it)")
		}
	}
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("no libvirt daemon was started: QEMU is missing (./setup test installs it)")
	}
	folder, err := os.MkdirTemp("", "plimsoll-libvirtd-") // a test's own has too long a name for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	d := &Daemon{Folder: folder, socket: filepath.Join(folder, "run/libvirt/libvirt-sock"), program: program, host: host}
	own := `auth_unix_rw = "none"` + "\n"
	if host != "" {
		own += fmt.Sprintf("host_uuid = %q\n", uuidOf(host))
	}
	for name, text := range map[string]string{"config/libvirt/qemu.conf": settings + ports(), "config/libvirt/libvirtd.conf": own} {
		if err := write(filepath.Join(folder, name), text); err != nil {
			t.Fatal(err)
		}
	}
	if pool != "" {
		text := fmt.Sprintf("<pool type='dir'><name>%s</name><target><path>%s</path></target></pool>", Pool, pool)
		for _, name := range []string{"config/libvirt/storage/shared.xml", "config/libvirt/storage/autostart/shared.xml"} {
			if err := write(filepath.Join(folder, name), text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := remember(folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	return d
}

// remember lets a daemon keep the capabilities of QEMU, which take seconds to find out, for those that follow.
func remember(folder string) error {
	kept := filepath.Join(os.TempDir(), fmt.Sprintf("plimsoll-test-libvirt-%d", os.Getuid()))
	if err := os.Mkdir(kept, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	own := filepath.Join(folder, "cache/libvirt/qemu/cache")
	if err := os.MkdirAll(own, 0o700); err != nil {
		return err
	}
	return os.Symlink(kept, filepath.Join(own, "capabilities"))
}

// ports are some of this machine, below those of its connections, for incoming migrations: all
// daemons would try the same ones first.
func ports() string {
	const first, each, ranges = 10_000, 8, 2_800
	least := first + rand.IntN(ranges)*each
	return fmt.Sprintf("migration_port_min = %d\nmigration_port_max = %d\n", least, least+each-1)
}

// uuidOf is a UUID that a name always has.
func uuidOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// command is the daemon's: under root in a name space where this user is not called root, since
// a daemon of root is the machine's, with fixed folders. One with a host of its own has a
// name space for its name.
func (d *Daemon) command() *exec.Cmd {
	args := []string{d.program, "--timeout", "600"}
	attributes := &syscall.SysProcAttr{}
	if d.host != "" {
		const script = `hostname "$1" && shift && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"`
		args = append([]string{"sh", "-c", script, "sh", d.host}, args...)
		attributes.Cloneflags |= syscall.CLONE_NEWUTS
		attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	if os.Geteuid() == 0 || d.host != "" {
		own := func(id int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: 1000, HostID: id, Size: 1}}
		}
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings, attributes.GidMappings = own(os.Getuid()), own(os.Getgid())
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = attributes
	cmd.Env = append(os.Environ(), "HOME="+d.Folder, "XDG_RUNTIME_DIR="+d.Folder+"/run", "XDG_CONFIG_HOME="+d.Folder+"/config",
		"XDG_CACHE_HOME="+d.Folder+"/cache", "XDG_DATA_HOME="+d.Folder+"/data")
	return cmd
}

// Run starts the daemon and waits until its socket answers. It may have been stopped before.
func (d *Daemon) Run(t testing.TB) {
	t.Helper()
	d.launch(t)
	d.await(t)
}

func (d *Daemon) launch(t testing.TB) {
	t.Helper()
	cmd := d.command()
	d.said = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = d.said, d.said
	if err := cmd.Start(); err != nil {
		t.Skipf("no libvirt daemon was started: %v", err)
	}
	ended := make(chan error, 1)
	d.process, d.ended = cmd.Process, ended
	go func() { ended <- cmd.Wait() }()
}

func (d *Daemon) await(t testing.TB) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		conn, err := net.Dial("unix", d.socket)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case err := <-d.ended:
			d.process = nil
			t.Fatalf("libvirtd ended (%v): %s", err, d.said.Bytes())
		case <-limit:
			t.Fatalf("libvirtd does not listen: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop stops the daemon. Its domains run on, as they do when the daemon of a host is
// upgraded.
func (d *Daemon) Stop() {
	if d.process != nil {
		_ = d.process.Signal(syscall.SIGCONT) // in case that it hangs
		_ = d.process.Signal(syscall.SIGTERM) // it may have ended
		<-d.ended
		d.process = nil
	}
}

// Kill ends the daemon without any notice. Its domains run on.
func (d *Daemon) Kill() {
	if d.process != nil {
		_ = d.process.Kill() // it may have ended
		<-d.ended
		d.process = nil
	}
}

func there(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o600)
}

// Hang has the daemon answer nothing until it is called with false.
func (d *Daemon) Hang(t testing.TB, hangs bool) {
	t.Helper()
	signal := syscall.SIGCONT
	if hangs {
		signal = syscall.SIGSTOP
	}
	if err := d.process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Revive starts the daemon again if it has crashed, as its service manager does: libvirtd 9 can
// crash when clients leave while it is stopped. It reports whether it did so.
func (d *Daemon) Revive(t testing.TB) bool {
	t.Helper()
	if !errors.Is(d.process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return false
	}
	t.Logf("the daemon crashed: %s", d.said)
	d.Run(t)
	return true
}
