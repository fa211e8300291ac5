package tenants

import (
	"syscall"
	"unsafe"
)

// mergesPackets reports whether generic receive offload (GRO) of an interface is on. A veth
// device has NAPI only then.
func mergesPackets(name string) bool {
	const (
		siocEthtool = 0x8946 // SIOCETHTOOL
		getGRO      = 0x2b   // ETHTOOL_GGRO
	)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)       //nolint:errcheck // nothing was written
	value := [2]uint32{getGRO, 0} // struct ethtool_value: command, data
	var request struct {          // struct ifreq
		name [syscall.IFNAMSIZ]byte
		data unsafe.Pointer
		rest [16]byte
	}
	if len(name) >= len(request.name) {
		return false
	}
	copy(request.name[:], name)
	request.data = unsafe.Pointer(&value)
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), siocEthtool, uintptr(unsafe.Pointer(&request)))
	return failed == 0 && value[1] != 0
}
