package provision

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/platform"
)

// Ethernet is the name of the network card in a VM.
const Ethernet = "eth0"

// models are the network cards by driver.
var models = map[string]hardware.Model{"virtio_net": hardware.VirtioNet, "vmxnet3": hardware.VMXNet3, "e1000e": hardware.E1000e}

// Ask runs a program in a VM and returns its output.
func Ask(ctx context.Context, far platform.Machine, argv ...string) (string, error) {
	r, err := far.Run(ctx, platform.Command{Argv: argv})
	if err == nil && r.Exit != 0 {
		err = errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s in the guest: %w", strings.Join(argv, " "), err)
	}
	return strings.TrimSpace(string(r.Stdout)), nil
}

// Card returns the model of the VM's network card, read from the driver that its kernel uses.
func Card(ctx context.Context, far platform.Machine) (string, error) {
	driver, err := Ask(ctx, far, "readlink", "-e", "--", "/sys/class/net/"+Ethernet+"/device/driver")
	if err != nil {
		return "", err
	}
	driver = path.Base(driver)
	if model, ok := models[driver]; ok {
		return string(model), nil
	}
	return driver, nil
}

// ReceiveQueues counts the receive queues of the VM's network card.
func ReceiveQueues(ctx context.Context, far platform.Machine) (int, error) {
	list, err := Ask(ctx, far, "ls", "--", "/sys/class/net/"+Ethernet+"/queues")
	if err != nil {
		return 0, err
	}
	return strings.Count(" "+strings.Join(strings.Fields(list), " "), " rx-"), nil
}
