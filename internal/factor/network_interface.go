package factor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/parameter"
)

const (
	networkInterface = "network interface" // the target of a factor
	interfaceFolder  = "/sys/class/net"
)

// ofInterface is the path of a sysfs file of a network interface.
func ofInterface(name string) func(context.Context, Env) (string, error) {
	return func(_ context.Context, p Env) (string, error) {
		return interfaceFolder + "/" + p.Target + "/" + name, checkInterface(p.Target)
	}
}

// checkInterface rejects invalid interface names, so that a target cannot be another path.
func checkInterface(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("append a network interface after a colon, such as :eth0")
	case len(name) > 15 || strings.ContainsAny(name, "/ ") || strings.HasPrefix(name, "."):
		return fmt.Errorf("%q is not a valid name of a network interface", name)
	}
	return nil
}

// interfaceGone reports whether an interface was removed, as that of a VM is which has ended.
func interfaceGone(ctx context.Context, p Env) (bool, error) {
	if err := checkInterface(p.Target); err != nil {
		return false, err
	}
	_, err := p.Machine.ReadFile(ctx, interfaceFolder+"/"+p.Target+"/ifindex")
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// GROFlushTimeout is the time for which the kernel may delay received packets of an interface
// to merge them.
func GROFlushTimeout() Factor {
	return file{
		words: called("time-out of receive batching"), path: ofInterface("gro_flush_timeout"),
		toFile: func(level string) (string, error) {
			var d parameter.Duration
			if err := d.UnmarshalText([]byte(level)); err != nil || time.Duration(d) > time.Second {
				return "", fmt.Errorf("level %q is not a time up to 1s, like 50us", level)
			}
			return strconv.FormatInt(int64(d), 10), nil
		},
		toLevel: func(text string) (string, error) {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return "", fmt.Errorf("%q is not a number", text)
			}
			return parameter.Duration(n).String(), nil
		},
	}.factor(Factor{
		Root:    true,
		Target:  networkInterface,
		Gone:    interfaceGone,
		Name:    "host.gro_flush_timeout",
		Doc:     "gro_flush_timeout of a network interface; with host.napi_deferral, the interval of NAPI polls",
		Example: []string{"0s", "50us"},
	})
}

// NAPIDeferral is the number of empty polls of an interface before its interrupt is enabled
// again.
func NAPIDeferral() Factor {
	plain := func(text string) (string, error) {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return "", fmt.Errorf("level %q is not a whole number of polls", text)
		}
		return strconv.FormatUint(n, 10), nil
	}
	return file{words: called("deferral of interrupts"), path: ofInterface("napi_defer_hard_irqs"), toFile: plain, toLevel: plain}.factor(Factor{
		Root:    true,
		Target:  networkInterface,
		Gone:    interfaceGone,
		Name:    "host.napi_deferral",
		Doc:     "napi_defer_hard_irqs of a network interface: empty NAPI polls before interrupts are enabled again",
		Example: []string{"0", "2"},
	})
}
