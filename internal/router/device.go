package router

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	tunFile = "/dev/net/tun"
	queued  = 10000 // packets that the kernel keeps for the router while it does something else
)

// sysctls are those of new namespaces.
var sysctls = map[string]string{
	"tcp_orphan_retries": "1", // connections of killed processes would keep the namespace for minutes
	"tcp_fin_timeout":    "1",
	// BBR paces each message at the rate of those before it, which takes another latency. Unlike others, Reno is permitted on every kernel.
	"tcp_congestion_control": "reno",
}

// device is an open TUN device, with its network namespace.
type device struct {
	fd    int
	space int // file descriptor of its namespace; -1 for that of the router
}

// open opens the device of a port, in a new namespace if it has one.
func open(p Port, bits int) (d *device, err error) {
	if p.Namespace == "" {
		return openHere(p, bits)
	}
	err = apart(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("create a network namespace: %w", err)
		}
		for name, value := range sysctls {
			_ = os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0) // a container may have no access
		}
		space, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open a network namespace: %w", err)
		}
		if d, err = openHere(p, bits); err != nil {
			return errors.Join(err, unix.Close(space))
		}
		d.space = space
		return raise("lo")
	})
	if err == nil {
		err = name(d.space, p.Namespace)
	}
	if err != nil && d != nil {
		d.close()
	}
	return d, err
}

// apart runs f on a thread of its own, which ends with it: its network namespace may change.
func apart(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the first thread cannot end; kept meanwhile, it leaves f to another
			done <- apart(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f()
	}()
	return <-done
}

// name makes a symbolic link to a file of this process.
func name(fd int, link string) error {
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), link)
}

// openHere opens the device of a port in the namespace of this thread.
func openHere(p Port, bits int) (*device, error) {
	fd, err := unix.Open(tunFile, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", tunFile, err)
	}
	d := &device{fd, -1}
	if err := d.configure(p, bits); err != nil {
		d.close()
		return nil, fmt.Errorf("create device %s: %w", p.Device, err)
	}
	return d, nil
}

func (d *device) configure(p Port, bits int) error {
	request, err := unix.NewIfreq(p.Device)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(d.fd, unix.TUNSETIFF, request); err != nil {
		return err
	}
	// Checksums are neither computed nor verified: no packet leaves this machine.
	if err := unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM); err != nil {
		return err
	}
	return errors.Join(
		change(p.Device, unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(longestPacket); return nil }),
		change(p.Device, unix.SIOCSIFTXQLEN, func(r *unix.Ifreq) error { r.SetUint32(queued); return nil }),
		change(p.Device, unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(p.Address.AsSlice()) }),
		change(p.Device, unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(mask(bits)) }),
		raise(p.Device),
	)
}

// mask is the netmask of a prefix.
func mask(bits int) []byte {
	m := ^uint32(0) << (32 - bits)
	return []byte{byte(m >> 24), byte(m >> 16), byte(m >> 8), byte(m)}
}

// raise brings a link up.
func raise(link string) error {
	return change(link, unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil })
}

// change changes a link of this namespace.
func change(link string, what uint, set func(*unix.Ifreq) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(link)
	if err == nil {
		err = set(request)
	}
	if err == nil {
		err = unix.IoctlIfreq(fd, what, request)
	}
	return err
}

func (d *device) close() {
	_ = unix.Close(d.fd)
	if d.space >= 0 {
		_ = unix.Close(d.space)
	}
}
