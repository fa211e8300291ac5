package guest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/factor"
)

func parametersFactor() factor.Factor {
	return part{
		canon: func(s Settings) string { return parameterText(strings.Fields(s.Parameters)) },
		see: one(func(ctx context.Context, r live) (string, error) {
			text, err := r.far.ReadFile(ctx, "/proc/cmdline")
			if err != nil {
				return "", fmt.Errorf("read the guest's command line: %w", err)
			}
			return parametersSeen(string(text), strings.Fields(r.settings.Parameters)), nil
		}),
		set: func(s *Settings, level string) error {
			if s.Parameters = strings.Join(strings.Fields(level), " "); s.Parameters == free {
				s.Parameters = ""
			}
			return nil
		},
	}.factor(factor.Factor{
		Name: "guest.parameters", Example: []string{"none", "mitigations=auto"},
		Doc: "additional kernel command-line parameters of a guest, or none; read back from /proc/cmdline",
	})
}

func parameterText(all []string) string {
	if len(all) == 0 {
		return free
	}
	return strings.Join(all, " ")
}

// parametersSeen are those at the end of a command line that were asked for: all of them,
// or what is there of them.
func parametersSeen(line string, asked []string) string {
	f := strings.Fields(line)
	if n := len(f) - len(asked); n >= 0 && slices.Equal(f[n:], asked) {
		return parameterText(asked)
	}
	return parameterText(slices.DeleteFunc(slices.Clone(asked), func(p string) bool { return !slices.Contains(f, p) }))
}
