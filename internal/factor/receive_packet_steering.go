package factor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/platform"
)

// ReceivePacketSteering is the set of CPUs for the receive queues of an interface (RPS). All
// queues are set alike; if they differ, as set by others, the level lists them in order of the
// queues, separated by semicolons. Without a target it is that of all interfaces, in order of
// their names.
func ReceivePacketSteering() Factor {
	return Factor{
		Root:    true,
		Name:    "host.receive_packet_steering",
		Doc:     "CPUs of Receive Packet Steering (RPS) for a network interface, or all",
		Target:  networkInterface,
		Example: []string{"none", "0-1"},
		// One CPU serves all packets, but for the part of a device's interrupt.
		Holds: []Hold{
			{Counter: "softirq.net_rx.busiest_share", PinnedOn: lastOnline},
			{Counter: "softirq.net_rx.gini", PinnedOn: lastOnline},
			{Counter: "softirq.net_rx.cpus90", PinnedOn: lastOnline},
		},
		Offers: func(ctx context.Context, p Env) ([]string, error) {
			_, err := steering(ctx, p)
			return nil, err
		},
		Check: func(_ context.Context, _ Env, level string) (string, error) {
			levels := strings.Split(level, queueSeparator)
			for i := range levels {
				mask, err := maskOf(levels[i])
				if err == nil {
					levels[i], err = cpusOf(mask)
				}
				if err != nil {
					return "", err
				}
			}
			return joined(levels), nil
		},
		Get: steering,
		Set: steer,
		Effect: func(ctx context.Context, p Env) (Effect, error) {
			files, err := receiveQueues(ctx, p)
			return Effect{Sets: files}, err
		},
	}
}

// lastOnline is the last CPU: most device interrupts go to the first.
func lastOnline(ctx context.Context, p Env, _ string) (string, error) {
	cpus, err := Online(ctx, p.Machine)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(cpus[len(cpus)-1]), nil
}

const (
	steeringWords = "packet steering"
	noCPUs        = "none"

	queueSeparator = ";"
)

func steering(ctx context.Context, p Env) (string, error) {
	files, err := receiveQueues(ctx, p)
	if err != nil {
		return "", err
	}
	levels := make([]string, len(files))
	for i, name := range files {
		text, err := Read(ctx, p.Machine, name, steeringWords)
		if err != nil {
			return "", err
		}
		if levels[i], err = cpusOf(text); err != nil {
			return "", fmt.Errorf("%s: read %s: %w", p.Machine.Name(), name, err)
		}
	}
	return joined(levels), nil
}

// joined is the level of queues, each with its own.
func joined(levels []string) string {
	if len(slices.Compact(slices.Clone(levels))) == 1 {
		return levels[0]
	}
	return strings.Join(levels, queueSeparator)
}

func steer(ctx context.Context, p Env, level string) error {
	files, err := receiveQueues(ctx, p)
	if err != nil {
		return err
	}
	levels := strings.Split(level, queueSeparator)
	if len(levels) == 1 {
		levels = slices.Repeat(levels, len(files))
	}
	if len(levels) != len(files) {
		return fmt.Errorf("level %q is for %d receive queues and there are %d", level, len(levels), len(files))
	}
	for i, name := range files {
		mask, err := maskOf(levels[i])
		if err != nil {
			return err
		}
		if err := Write(ctx, p.Machine, name, steeringWords, mask); err != nil {
			return err
		}
	}
	return nil
}

// receiveQueues lists the files that steer the receive queues, in order of interface and queue.
func receiveQueues(ctx context.Context, p Env) ([]string, error) {
	if p.Target != "" {
		return receiveQueuesOf(ctx, p.Machine, p.Target)
	}
	interfaces, err := Below(ctx, p.Machine, interfaceFolder)
	if err != nil {
		return nil, err
	}
	slices.Sort(interfaces)
	var all []string
	for _, folder := range slices.Compact(interfaces) {
		files, err := receiveQueuesOf(ctx, p.Machine, path.Base(folder))
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
		all = append(all, files...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no network interface with receive queues: %w", p.Machine.Name(), errors.ErrUnsupported)
	}
	return all, nil
}

func receiveQueuesOf(ctx context.Context, m platform.Machine, name string) ([]string, error) {
	if err := checkInterface(name); err != nil {
		return nil, err
	}
	folder := interfaceFolder + "/" + name + "/queues"
	queues, err := Below(ctx, m, folder)
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
		return nil, fmt.Errorf("%s has no network interface %s with receive queues: %w", m.Name(), name, errors.ErrUnsupported)
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
