package provision

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plimsoll/internal/guest/bundle"
	"plimsoll/internal/platform"
)

// programs are the programs of this host that workloads, services and factors run in a guest.
var programs = []string{"fio", "redis-server", "valkey-server", "memcached", "nginx", "ethtool"}

// gather lists the files of the programs that this host has, by their names in a guest, where
// all programs are in /usr/bin. A program with missing libraries is omitted.
func gather(programs []string) map[string]string {
	files := map[string]string{}
	for _, name := range programs {
		at := find(name)
		if at == "" {
			continue
		}
		found, err := bundle.Program(at)
		if err != nil {
			continue
		}
		maps.Copy(files, found)
		files["/usr/bin/"+name] = found[at]
	}
	return withNames(files)
}

// withNames adds the libraries that older C libraries load at run time to look up users.
func withNames(files map[string]string) map[string]string {
	for name := range maps.Clone(files) {
		if filepath.Base(name) != "libc.so.6" {
			continue
		}
		names := filepath.Join(filepath.Dir(name), "libnss_files.so.2")
		if real, err := filepath.EvalSymlinks(names); err == nil {
			files[names] = real
		}
	}
	return files
}

// find is the path of a program of this host. Daemons are often outside an ordinary user's
// PATH.
func find(name string) string {
	if at, err := exec.LookPath(name); err == nil {
		return at
	}
	at := "/usr/sbin/" + name
	if _, err := os.Stat(at); err == nil {
		return at
	}
	return ""
}

// users creates the users of a guest: root, and an unprivileged one for daemons. It also adds
// the guest's host name, which Java resolves.
func users(ctx context.Context, far platform.Machine) error {
	if err := Do(ctx, far, "mkdir", "-p", "--", "/etc"); err != nil {
		return err
	}
	own, _ := far.ReadFile(ctx, "/proc/sys/kernel/hostname") // without a name nothing looks it up
	for name, text := range map[string]string{
		"/etc/passwd": "root:x:0:0:root:/:/\nnobody:x:65534:65534:nobody:/:/\n",
		"/etc/group":  "root:x:0:\nnogroup:x:65534:\n",
		"/etc/hosts":  fmt.Sprintf("127.0.0.1 localhost %s\n", strings.TrimSpace(string(own))), "/etc/nsswitch.conf": "hosts: files\n",
	} {
		if err := far.WriteFile(ctx, name, []byte(text)); err != nil {
			return fmt.Errorf("name the users of the guest: %w", err)
		}
	}
	return nil
}
