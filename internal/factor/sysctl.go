package factor

import (
	"context"
	"errors"
	"fmt"
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
		Doc:     "kernel parameter (sysctl)",
		Target:  "name of the setting, such as vm.dirty_ratio",
		Example: []string{"10", "20"},
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
