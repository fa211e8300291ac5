package provision

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

const (
	// fabricName is the name of the NVMe subsystem that has the disk. Each is at an address of its own.
	fabricName = "nqn.2026-01.io.plimsoll:data"
	// fabricHost is the name and number of a guest as an NVMe host, of which each subsystem has one.
	fabricHost = "6a1c8e7d-0b6b-4f2e-8a5c-4c439d570f31"
	fabricPort = "4420" // registered for NVMe over fabrics
	// keepAlive and lossTime are how long one end waits for the other, in seconds: an emulated guest can be late.
	keepAlive, lossTime = 30, 30

	targetFolder = "/sys/kernel/config/nvmet/"
	subsystem    = targetFolder + "subsystems/" + fabricName
	targetPort   = targetFolder + "ports/1"
	connector    = "/dev/nvme-fabrics"
	controllers  = "/sys/class/nvme/"
	rdmaDevices  = "/sys/class/infiniband/"
	softDevice   = "rxe0"

	// fabricTime is how long a kernel may take to show what it was asked for.
	fabricTime = 20 * time.Second
)

// Fabric is the way from a VM to a disk that another VM exports.
type Fabric struct {
	Transport string     // tcp or rdma, as the kernel calls it
	Address   netip.Addr // of the VM that exports the disk, IPv4
}

// Export exports a disk of a VM, identified by its size in bytes.
func Export(ctx context.Context, far platform.Machine, f Fabric, size int64) error {
	device, err := DeviceOf(ctx, far, size)
	if err != nil {
		return err
	}
	if err := needConfigfs(ctx, far); err != nil {
		return err
	}
	for _, folder := range []string{subsystem, subsystem + "/namespaces/1", targetPort} {
		if err := Do(ctx, far, "mkdir", "--", folder); err != nil {
			return fmt.Errorf("export the disk by NVMe over %s: %w", f.Transport, err)
		}
	}
	err = write(ctx, far, [][2]string{
		{subsystem + "/attr_allow_any_host", "1"},
		{subsystem + "/namespaces/1/device_path", "/dev/" + device},
		{subsystem + "/namespaces/1/enable", "1"},
		{targetPort + "/addr_adrfam", "ipv4"},
		{targetPort + "/addr_trtype", f.Transport},
		{targetPort + "/addr_traddr", f.Address.String()},
		{targetPort + "/addr_trsvcid", fabricPort},
	})
	if err == nil {
		err = Do(ctx, far, "ln", "-s", "--", subsystem, targetPort+"/subsystems/"+fabricName)
	}
	if err != nil {
		return fmt.Errorf("export the disk by NVMe over %s: %w", f.Transport, err)
	}
	return nil
}

// needConfigfs mounts configfs, unless it is mounted: a kernel that has it as a module had it not when the VM booted.
func needConfigfs(ctx context.Context, far platform.Machine) error {
	r, err := far.Run(ctx, platform.Command{Argv: []string{"test", "-d", targetFolder}})
	if err != nil || r.Exit == 0 {
		return err
	}
	return Do(ctx, far, "mount", "-t", "configfs", "--", "configfs", "/sys/kernel/config")
}

// Attach makes an exported disk, identified by its size in bytes, a disk of a VM, and returns when it is there.
func Attach(ctx context.Context, far platform.Machine, f Fabric, size int64) error {
	request := fmt.Sprintf("transport=%s,traddr=%s,trsvcid=%s,nqn=%s,hostnqn=nqn.2014-08.org.nvmexpress:uuid:%s,hostid=%s,keep_alive_tmo=%d,ctrl_loss_tmo=%d",
		f.Transport, f.Address, fabricPort, fabricName, fabricHost, fabricHost, keepAlive, lossTime)
	err := write(ctx, far, [][2]string{{connector, request}})
	if err == nil {
		err = until(ctx, "the exported disk", func(ctx context.Context) (bool, error) {
			device, err := DeviceOf(ctx, far, size)
			if err != nil {
				return false, nil //nolint:nilerr // it is not there yet
			}
			r, err := far.Run(ctx, platform.Command{Argv: []string{"test", "-e", "/dev/" + device}})
			return r.Exit == 0, err
		})
	}
	if err != nil {
		return fmt.Errorf("attach the disk by NVMe over %s from %s: %w", f.Transport, f.Address, err)
	}
	return nil
}

// Detach removes a disk that Attach added; it must not be mounted.
func Detach(ctx context.Context, far platform.Machine) error {
	name, _, err := fabricController(ctx, far)
	if err != nil || name == "" {
		return err
	}
	return write(ctx, far, [][2]string{{controllers + name + "/delete_controller", "1"}})
}

// RDMADevice returns an RDMA device of a VM that reaches an address of its own, and whether it is one in software. A VM without a
// device gets one in software (soft-RoCE).
func RDMADevice(ctx context.Context, far platform.Machine, own netip.Addr) (device string, soft bool, err error) {
	if device, err = rdmaDevice(ctx, far, own); err != nil {
		return "", false, err
	}
	if device != "" {
		return device, device == softDevice, nil
	}
	if err := Do(ctx, far, "rdma", "link", "add", softDevice, "type", "rxe", "netdev", Ethernet); err != nil {
		return "", false, fmt.Errorf("make a soft-RoCE device: %w", err)
	}
	err = until(ctx, "an RDMA device with address "+own.String(), func(ctx context.Context) (bool, error) {
		device, err := rdmaDevice(ctx, far, own)
		return device == softDevice, err
	})
	return softDevice, true, err
}

// rdmaDevice is the RDMA device with an address among those of its first port; empty if there is none.
func rdmaDevice(ctx context.Context, far platform.Machine, own netip.Addr) (string, error) {
	const addresses = 8 // of a port: two versions of RoCE, and the addresses of one card
	devices, err := Ask(ctx, far, "ls", "--", rdmaDevices)
	if err != nil {
		return "", err
	}
	for name := range strings.FieldsSeq(devices) {
		for n := range addresses {
			text, err := far.ReadFile(ctx, fmt.Sprintf("%s%s/ports/1/gids/%d", rdmaDevices, name, n))
			if err != nil {
				break
			}
			if a, err := netip.ParseAddr(strings.TrimSpace(string(text))); err == nil && a.Unmap() == own {
				return name, nil
			}
		}
	}
	return "", nil
}

// FabricOf reads from the kernel of a VM over which fabric the disk that is mounted on a folder is attached: none, or the transport.
func FabricOf(ctx context.Context, far platform.Machine, folder string) (string, error) {
	m, err := MountedOn(ctx, far, folder)
	if err != nil {
		return "", err
	}
	name, transport, err := fabricController(ctx, far)
	if err != nil || name == "" || !strings.HasPrefix(m.Device, "nvme") {
		return "none", err
	}
	return transport, nil
}

// ExportedOver reads from the kernel of a VM over which fabric it exports its disk.
func ExportedOver(ctx context.Context, far platform.Machine) (string, error) {
	text, err := far.ReadFile(ctx, targetPort+"/addr_trtype")
	if err != nil {
		return "", fmt.Errorf("read how the disk is exported: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// fabricController is the controller of an attached disk and its transport; empty if none is attached.
func fabricController(ctx context.Context, far platform.Machine) (name, transport string, err error) {
	list, err := Ask(ctx, far, "ls", "--", controllers)
	if err != nil {
		return "", "", nil //nolint:nilerr // a kernel without NVMe has no such folder
	}
	for name := range strings.FieldsSeq(list) {
		of, err := far.ReadFile(ctx, controllers+name+"/subsysnqn")
		if err != nil || strings.TrimSpace(string(of)) != fabricName {
			continue
		}
		text, err := far.ReadFile(ctx, controllers+name+"/transport")
		if err != nil {
			return "", "", fmt.Errorf("read how the disk is attached: %w", err)
		}
		return name, strings.TrimSpace(string(text)), nil
	}
	return "", "", nil
}

// write writes texts to files of a VM's kernel, in order.
func write(ctx context.Context, far platform.Machine, files [][2]string) error {
	for _, w := range files {
		if err := far.WriteFile(ctx, w[0], []byte(w[1])); err != nil {
			return fmt.Errorf("write %s to %s: %w", w[1], w[0], err)
		}
	}
	return nil
}

// until asks again until something is there.
func until(ctx context.Context, what string, there func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, fabricTime, errors.New("the guest's kernel does not show "+what))
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if is, err := there(ctx); is || err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
