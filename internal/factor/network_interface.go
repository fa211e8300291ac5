package factor

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
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
		Name:    "host.napi_deferral",
		Doc:     "napi_defer_hard_irqs of a network interface: empty NAPI polls before interrupts are enabled again",
		Example: []string{"0", "2"},
	})
}

// ReceivePacketSteering is the set of CPUs for the receive queues of an interface (RPS). All
// queues are set alike; if they differ, as set by others, the level lists them in order of the
// queues, separated by semicolons.
func ReceivePacketSteering() Factor {
	return Factor{
		Root:    true,
		Name:    "host.receive_packet_steering",
		Doc:     "CPUs of Receive Packet Steering (RPS) for a network interface",
		Target:  networkInterface,
		Example: []string{"none", "0-1"},
		Offers: func(ctx context.Context, p Env) ([]string, error) {
			_, err := steering(ctx, p)
			return nil, err
		},
		Check: func(_ context.Context, _ Env, level string) (string, error) {
			mask, err := maskOf(level)
			if err != nil {
				return "", err
			}
			return cpusOf(mask)
		},
		Get: steering,
		Set: steer,
		Effect: func(ctx context.Context, p Env) (Effect, error) {
			files, err := receiveQueues(ctx, p)
			return Effect{Sets: files}, err
		},
	}
}

const (
	steeringWords = "packet steering"
	noCPUs        = "none"
)

func steering(ctx context.Context, p Env) (string, error) {
	files, err := receiveQueues(ctx, p)
	if err != nil {
		return "", err
	}
	levels := make([]string, len(files))
	for i, name := range files {
		text, err := read(ctx, p.Machine, name, steeringWords)
		if err != nil {
			return "", err
		}
		if levels[i], err = cpusOf(text); err != nil {
			return "", fmt.Errorf("%s: read %s: %w", p.Machine.Name(), name, err)
		}
	}
	if len(slices.Compact(slices.Clone(levels))) == 1 {
		return levels[0], nil
	}
	return strings.Join(levels, ";"), nil
}

func steer(ctx context.Context, p Env, level string) error {
	files, err := receiveQueues(ctx, p)
	if err != nil {
		return err
	}
	levels := strings.Split(level, ";")
	if len(levels) == 1 {
		levels = slices.Repeat(levels, len(files))
	}
	if len(levels) != len(files) {
		return fmt.Errorf("level %q is for %d receive queues and %s has %d", level, len(levels), p.Target, len(files))
	}
	for i, name := range files {
		mask, err := maskOf(levels[i])
		if err != nil {
			return err
		}
		if err := write(ctx, p.Machine, name, steeringWords, mask); err != nil {
			return err
		}
	}
	return nil
}

// receiveQueues lists the files that steer the receive queues, in order.
func receiveQueues(ctx context.Context, p Env) ([]string, error) {
	if err := checkInterface(p.Target); err != nil {
		return nil, err
	}
	folder := interfaceFolder + "/" + p.Target + "/queues"
	queues, err := below(ctx, p.Machine, folder)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range queues {
		if number, receives := strings.CutPrefix(path.Base(name), "rx-"); receives {
			if n, err := strconv.Atoi(number); err == nil {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	if len(numbers) == 0 {
		return nil, fmt.Errorf("%s has no network interface %s with receive queues", p.Machine.Name(), p.Target)
	}
	files := make([]string, len(numbers))
	for i, n := range numbers {
		files[i] = fmt.Sprintf("%s/rx-%d/rps_cpus", folder, n)
	}
	return files, nil
}

// maskOf formats a level for the kernel: comma-separated hexadecimal words of 32 CPUs, the
// highest first.
func maskOf(level string) (string, error) {
	if level == noCPUs {
		return "0", nil
	}
	cpus, err := platform.ParseCPUs(level)
	if err != nil {
		return "", fmt.Errorf("level %w, or %s", err, noCPUs)
	}
	words := make([]uint32, cpus[len(cpus)-1]/32+1)
	for _, cpu := range cpus {
		words[len(words)-1-cpu/32] |= 1 << (cpu % 32)
	}
	text := make([]string, len(words))
	for i, w := range words {
		text[i] = fmt.Sprintf("%08x", w)
	}
	return strings.Join(text, ","), nil
}

// cpusOf parses a mask.
func cpusOf(mask string) (string, error) {
	words := strings.Split(strings.TrimSpace(mask), ",")
	var cpus platform.CPUs
	for i := range words {
		w, err := strconv.ParseUint(words[len(words)-1-i], 16, 32)
		if err != nil {
			return "", fmt.Errorf("%q is not a mask of CPUs", mask)
		}
		for bit := range 32 {
			if w>>bit&1 == 1 {
				cpus = append(cpus, 32*i+bit)
			}
		}
	}
	if len(cpus) == 0 {
		return noCPUs, nil
	}
	return cpus.String(), nil
}
