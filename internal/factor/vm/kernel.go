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
		Doc: "additional kernel command-line parameters of a guest, or none; read back from /proc/cmdline",
	})
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
