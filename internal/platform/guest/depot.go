package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/guest/furnish"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/qemu"
)

// depot is what guests boot from.
type depot struct {
	agent  string // the program that is /init
	kernel *kernel.Kernel
	cache  string // folder for what is kept from one study to the next
}

// agentName is the program that lies beside plimsoll.
const agentName = "plimsoll-agent"

func findDepot(s Settings) (d depot, err error) {
	if d.cache, err = kernel.Folder(); err != nil {
		return d, err
	}
	if s.Kernel != "" {
		d.kernel, err = kernel.Open(s.Kernel, s.Modules)
	} else {
		d.kernel, err = kernel.Find(d.cache)
	}
	if err != nil {
		return d, err
	}
	d.agent, err = findAgent()
	return d, err
}

// findAgent looks for the agent beside the program that runs.
func findAgent() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", agentName, err)
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return "", fmt.Errorf("find %s: %w", agentName, err)
	}
	agent := filepath.Join(filepath.Dir(own), agentName)
	if _, err := os.Stat(agent); err != nil {
		return "", fmt.Errorf("%s is not beside %s: make build makes both (%w)", agentName, own, err)
	}
	return agent, nil
}

// parts are the sets of modules that a guest of such settings needs.
func (s Settings) parts() []string {
	parts := append([]string{"channel", "ext4"}, furnish.Drivers(qemu.Controller(s.Controller))...)
	if s.Pmem > 0 {
		parts = append(parts, "pmem")
	}
	if s.Network {
		parts = append(parts, cards[qemu.Model(s.NIC)]...)
	}
	return parts
}

// initramfs makes what guests boot into that need such sets of modules.
func (d depot) initramfs(name string, parts []string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make the guest's initramfs: %w", err)
	}
	err = errors.Join(initramfs.Build(f, initramfs.Spec{Init: d.agent, Kernel: d.kernel, Modules: parts}), f.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
