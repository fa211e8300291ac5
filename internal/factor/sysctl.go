package factor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/pattern"
)

// Sysctl is a kernel parameter. Its target is the name as in sysctl(8): components are joined
// by dots, and a dot within a component is written as a slash.
func Sysctl() Factor {
	return file{
		words:   func(p Env) string { return "sysctl " + p.Target },
		path:    func(_ context.Context, p Env) (string, error) { return sysctlFile(p.Target) },
		toLevel: func(text string) (string, error) { return spaced(text), nil },
	}.factor(Factor{
		Root:    true,
		Name:    "host.sysctl",
		Doc:     "kernel parameter (sysctl); those that weaken protection, or can lose data, are unsafe",
		Unsafe:  unsafeSysctl,
		Target:  "name of the setting, such as vm.dirty_ratio",
		Example: []string{"10", "20"},
		Holds: []Hold{
			{Counter: "numa.migrated", Target: "kernel.numa_balancing", Pinned: "0"},
			{Counter: "numa.hint_faults", Target: "kernel.numa_balancing", Pinned: "0"},
		},
		Check: func(_ context.Context, p Env, level string) (string, error) {
			name, err := sysctlFile(p.Target)
			if err == nil {
				err = returns(name)
			}
			if err == nil && strings.TrimSpace(level) == "" {
				err = errors.New("the level of a sysctl must not be empty")
			}
			return spaced(level), err
		},
		Effect: sysctlEffect,
	})
}

// protections are the sysctls that protect data or security, in whole or by their beginning.
// Source: Linux, Documentation/admin-guide/sysctl and Documentation/networking/ip-sysctl.rst.
var protections = []string{
	"fs.protected_", "fs.suid_dumpable", "kernel.randomize_va_space", "kernel.kptr_restrict", "kernel.dmesg_restrict", "kernel.perf_event_paranoid",
	"kernel.unprivileged_", "kernel.yama.", "kernel.modules_disabled", "kernel.kexec_load_disabled", "kernel.panic", "kernel.sysrq", "kernel.core_pattern",
	"net.core.bpf_jit_harden", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_rfc1337", "net.ipv4.conf.", "net.ipv6.conf.", "net.ipv4.icmp_", "net.ipv4.ip_forward",
	"user.", "vm.mmap_", "vm.unprivileged_", "vm.overcommit_", "vm.panic_on_oom", "vm.laptop_mode",
}

// unsafeSysctl reports whether a sysctl protects data or security, whatever its level: plimsoll does not
// know which levels weaken it.
func unsafeSysctl(target, _ string) bool {
	return slices.ContainsFunc(protections, func(p string) bool { return strings.HasPrefix(target, p) })
}

// spaced replaces the kernel's tabs by spaces.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

var sysctlKey = pattern.Of(`^[A-Za-z0-9_-]+([./][A-Za-z0-9_:@-]+)+$`)

// sysctlFile is the file of a setting. The pattern keeps it below /proc/sys: no component
// begins with a dot.
func sysctlFile(key string) (string, error) {
	if key == "" {
		return "", errors.New("append the setting after a colon, like host.sysctl:vm.dirty_ratio")
	}
	if !sysctlKey().MatchString(key) {
		return "", fmt.Errorf("%q is not the name of a sysctl, like vm.dirty_ratio", key)
	}
	names := strings.Split(key, ".")
	for i, n := range names {
		names[i] = strings.ReplaceAll(n, "/", ".")
	}
	return "/proc/sys/" + strings.Join(names, "/"), nil
}
