package vm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/spec"
)

func parameters() factor.Factor {
	return setting{
		canonical: func(g spec.Guest) string { return joined(strings.Fields(g.Parameters)) },
		read: func(ctx context.Context, r spec.Running) (string, error) {
			text, err := r.Agent.ReadFile(ctx, "/proc/cmdline")
			if err != nil {
				return "", fmt.Errorf("read the guest's command line: %w", err)
			}
			return ParametersIn(string(text), strings.Fields(r.Spec.Parameters)), nil
		},
		set: func(g *spec.Guest, level string) error {
			if g.Parameters = strings.Join(strings.Fields(level), " "); g.Parameters == spec.Unset {
				g.Parameters = ""
			}
			return nil
		},
	}.factor(factor.Factor{
		Name: "guest.parameters", Example: []string{"none", "mitigations=auto"},
		Doc:    "additional kernel command-line parameters of a guest, or none; read back from /proc/cmdline; those that disable mitigations are unsafe",
		Unsafe: func(_, level string) bool { return slices.ContainsFunc(strings.Fields(level), disablesProtection) },
	})
}

// disablesProtection reports whether a kernel parameter disables a protection against attacks.
// Source: Linux, Documentation/admin-guide/kernel-parameters.txt, the parameters under "mitigations".
func disablesProtection(parameter string) bool {
	name, value, _ := strings.Cut(parameter, "=")
	switch name {
	case "nopti", "nospectre_v1", "nospectre_v2", "nospectre_bhb", "nospec_store_bypass_disable", "nosmep", "nosmap", "nokaslr", "nosgx":
		return true
	case "mitigations", "pti", "kpti", "spectre_v2", "spectre_v2_user", "spectre_bhi", "spec_store_bypass_disable", "l1tf", "mds", "tsx_async_abort", "mmio_stale_data",
		"retbleed", "gather_data_sampling", "reg_file_data_sampling", "srbds", "spec_rstack_overflow", "l1d_flush", "rodata", "selinux", "apparmor", "lockdown":
		return slices.Contains([]string{"off", "0", "none"}, value)
	case "init_on_alloc", "init_on_free":
		return value == "0"
	}
	return false
}

func joined(parameters []string) string {
	if len(parameters) == 0 {
		return spec.Unset
	}
	return strings.Join(parameters, " ")
}

// ParametersIn returns the requested parameters that are in a command line: all of them if it
// ends with them.
func ParametersIn(line string, requested []string) string {
	f := strings.Fields(line)
	if n := len(f) - len(requested); n >= 0 && slices.Equal(f[n:], requested) {
		return joined(requested)
	}
	return joined(slices.DeleteFunc(slices.Clone(requested), func(p string) bool { return !slices.Contains(f, p) }))
}
