// Package libvirttest starts libvirt daemons of their own for tests: with sockets and
// folders that nobody else knows, and no rights beyond those of a user.
package libvirttest

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Daemon is a libvirt daemon of a test.
type Daemon struct {
	Folder string
	socket string
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

// Start starts a daemon that ends with the test, or by itself a minute after its last
// client. The test is skipped where PLIMSOLL_REAL=1 or libvirt is missing.
func Start(t testing.TB) Daemon {
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
	d := Daemon{folder, filepath.Join(folder, "run/libvirt/libvirt-sock")}
	for name, text := range map[string]string{"config/libvirt/qemu.conf": settings, "config/libvirt/libvirtd.conf": `auth_unix_rw = "none"`} {
		if err := write(filepath.Join(folder, name), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.run(t, program)
	return d
}

// run starts the daemon and waits until its socket answers.
func (d Daemon) run(t testing.TB, program string) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(program, "--timeout", "60")
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(os.Environ(), "HOME="+d.Folder, "XDG_RUNTIME_DIR="+d.Folder+"/run", "XDG_CONFIG_HOME="+d.Folder+"/config",
		"XDG_CACHE_HOME="+d.Folder+"/cache", "XDG_DATA_HOME="+d.Folder+"/data")
	if os.Geteuid() == 0 {
		// A daemon of root is the machine's, with fixed folders. In a name space where this
		// user is not called root it is a user's.
		own := func(id int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: 1000, HostID: id, Size: 1}}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: own(os.Getuid()), GidMappings: own(os.Getgid())}
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no libvirt daemon was started: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-ended
	})
	limit := time.After(30 * time.Second)
	for {
		conn, err := net.Dial("unix", d.socket)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("libvirtd ended (%v): %s", err, said.Bytes())
		case <-limit:
			t.Fatalf("libvirtd does not listen: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
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
