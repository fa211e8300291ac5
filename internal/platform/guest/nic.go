package guest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/platform"
)

// cards are the modules for each network card, and what makes a network slow on demand.
var cards = map[qemu.Model][]string{
	qemu.VirtioNet: {"virtio_net", "netem"}, qemu.VMXNet3: {"vmxnet3", "netem"}, qemu.E1000e: {"e1000e", "netem"},
}

// models are the network cards by the drivers that a guest's kernel has for them.
var models = map[string]qemu.Model{"virtio_net": qemu.VirtioNet, "vmxnet3": qemu.VMXNet3, "e1000e": qemu.E1000e}

func nicFactor() factor.Factor {
	return part{
		check: func(m *machine, level string) (string, error) { return level, m.networked() },
		see: func(ctx context.Context, m *machine) (string, error) {
			far, err := m.linked(ctx)
			if err != nil {
				return "", err
			}
			driver, err := run(ctx, far, "readlink", "-e", "--", "/sys/class/net/"+device+"/device/driver")
			if err != nil {
				return "", err
			}
			driver = path.Base(driver)
			if model, ok := models[driver]; ok {
				return string(model), nil
			}
			return driver, nil
		},
		set: func(s *Settings, level string) error {
			if _, ok := cards[qemu.Model(level)]; !ok {
				return fmt.Errorf("%q is no network card: want virtio-net, vmxnet3 or e1000e", level)
			}
			s.NIC = level
			return nil
		},
	}.factor(factor.Factor{Name: "guest.nic", Doc: "network card of a guest: virtio-net, vmxnet3 or e1000e", Example: []string{"virtio-net", "vmxnet3"}})
}

// networked says what is missing where the study has no network.
func (m *machine) networked() error {
	_, err := m.Address(context.Background())
	return err
}

// linked is the running guest with a network.
func (m *machine) linked(ctx context.Context) (platform.Machine, error) {
	if err := m.networked(); err != nil {
		return nil, err
	}
	return m.up(ctx)
}

// run runs a small program in a guest and gives what it prints.
func run(ctx context.Context, far platform.Machine, argv ...string) (string, error) {
	r, err := far.Run(ctx, platform.Command{Argv: argv})
	if err == nil && r.Exit != 0 {
		err = errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s in the guest: %w", strings.Join(argv, " "), err)
	}
	return strings.TrimSpace(string(r.Stdout)), nil
}

// queues counts the receive queues of the guest's card.
func (m *machine) queues(ctx context.Context) (int, error) {
	far, err := m.linked(ctx)
	if err != nil {
		return 0, err
	}
	list, err := run(ctx, far, "ls", "--", "/sys/class/net/"+device+"/queues")
	if err != nil {
		return 0, err
	}
	n := 0
	for name := range strings.FieldsSeq(list) {
		if strings.HasPrefix(name, "rx-") {
			n++
		}
	}
	return n, nil
}

// queuesFact is what a report says of the card.
func (m *machine) queuesFact(ctx context.Context) (platform.Fact, error) {
	n, err := m.queues(ctx)
	return platform.Fact{Name: "guest.nic.queues", Value: strconv.Itoa(n)}, err
}
