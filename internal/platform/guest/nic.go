package guest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/initramfs"
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
		check: func(m *machine, level string) (string, error) {
			if err := m.networked(); err != nil {
				return "", err
			}
			return level, m.depot.drives(qemu.Model(level))
		},
		see: func(ctx context.Context, m *machine) (string, error) {
			far, err := m.linked(ctx)
			if err != nil {
				return "", err
			}
			return driven(ctx, far)
		},
		set: func(s *Settings, level string) error {
			if _, ok := cards[qemu.Model(level)]; !ok {
				return fmt.Errorf("%q is no network card: want virtio-net, vmxnet3 or e1000e", level)
			}
			s.NIC = level
			return nil
		},
	}.factor(factor.Factor{Name: "guest.nic", Doc: "network adapter of a guest: virtio-net, vmxnet3 or e1000e", Example: []string{"virtio-net", "vmxnet3"}})
}

// drives says what is missing where the kernel of guests has no driver for a card.
func (d depot) drives(card qemu.Model) error {
	if d.kernel == nil {
		return nil // nothing boots
	}
	if _, err := initramfs.New(initramfs.Spec{Init: d.agent, Kernel: d.kernel, Modules: cards[card]}); err != nil {
		return fmt.Errorf("network card %s: %w", card, err)
	}
	return nil
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

// card says which network card the guest sees, with how many receive queues.
func (m *machine) card(ctx context.Context) (string, error) {
	far, err := m.linked(ctx)
	if err != nil {
		return "", err
	}
	model, err := driven(ctx, far)
	if err != nil {
		return "", err
	}
	list, err := run(ctx, far, "ls", "--", "/sys/class/net/"+device+"/queues")
	if err != nil {
		return "", err
	}
	queues := 0
	for name := range strings.FieldsSeq(list) {
		if strings.HasPrefix(name, "rx-") {
			queues++
		}
	}
	if queues == 1 {
		return model + ", one queue", nil
	}
	return fmt.Sprintf("%s, %d queues", model, queues), nil
}

// driven is the network card that the guest sees, by its driver.
func driven(ctx context.Context, far platform.Machine) (string, error) {
	driver, err := run(ctx, far, "readlink", "-e", "--", "/sys/class/net/"+device+"/device/driver")
	if err != nil {
		return "", err
	}
	driver = path.Base(driver)
	if model, ok := models[driver]; ok {
		return string(model), nil
	}
	return driver, nil
}
