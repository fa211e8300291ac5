package tenants

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Link is a network interface of this network namespace.
type Link struct {
	Name     string
	Index    int    // the kernel gives it to no other interface while the host runs
	Kind     string // of a virtual interface, such as "veth", "tun" or "bridge"; empty for others
	Up       bool   // it is set up
	Loopback bool
	Physical bool // a device of the machine
	Uplink   bool // the default route of IPv4 leads there
	// Namespace numbers the network namespace at the other end, as this one does; below 0 if
	// there is none.
	Namespace int
	NAPI      bool // received packets are polled, so that the kernel can batch them
}

// Tenant reports whether the interface connects a container: a veth pair of which the other
// end is in another network namespace. The pair through which this host is itself connected,
// as in a container, is none.
func (l Link) Tenant() bool { return l.Kind == "veth" && l.Namespace >= 0 && !l.Uplink }

// containers counts the network namespaces at the other ends.
func containers(links []Link) int {
	seen := map[int]bool{}
	for _, l := range links {
		if l.Tenant() {
			seen[l.Namespace] = true
		}
	}
	return len(seen)
}

// Links lists the network interfaces of this network namespace.
func Links() ([]Link, error) {
	answer, err := syscall.NetlinkRIB(syscall.RTM_GETLINK, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", os.NewSyscallError("netlink", err))
	}
	links, err := parseLinks(answer)
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	routes, _ := os.ReadFile("/proc/net/route") // absent without IPv4
	uplink := defaultRoute(string(routes))
	for i := range links {
		l := &links[i]
		folder := "/sys/class/net/" + l.Name
		_, err := os.Stat(folder + "/device")
		l.Physical, l.Uplink = err == nil, uplink[l.Name]
		switch l.Kind {
		case "veth":
			l.NAPI = mergesPackets(l.Name)
		case "tun":
			flags, _ := os.ReadFile(folder + "/tun_flags") // it may have ended
			l.NAPI = tunPolls(string(flags))
		default:
			l.NAPI = l.Physical
		}
	}
	return links, nil
}

// Attributes of a link, from linux/if_link.h.
const (
	attributeName      = 3  // IFLA_IFNAME
	attributeInfo      = 18 // IFLA_LINKINFO
	attributeNamespace = 37 // IFLA_LINK_NETNSID
	attributeKind      = 1  // IFLA_INFO_KIND, in the information
	attributeType      = 0x3fff
)

// parseLinks parses the answer of the kernel to a request for all links.
func parseLinks(answer []byte) ([]Link, error) {
	messages, err := syscall.ParseNetlinkMessage(answer)
	if err != nil {
		return nil, err
	}
	var links []Link
	for _, m := range messages {
		if m.Header.Type != syscall.RTM_NEWLINK || len(m.Data) < syscall.SizeofIfInfomsg {
			continue
		}
		flags := binary.NativeEndian.Uint32(m.Data[8:12])
		l := Link{Up: flags&syscall.IFF_UP != 0, Loopback: flags&syscall.IFF_LOOPBACK != 0, Namespace: -1, Index: int(int32(binary.NativeEndian.Uint32(m.Data[4:8])))}
		attributes(m.Data[syscall.SizeofIfInfomsg:], func(kind int, value []byte) {
			switch kind {
			case attributeName:
				l.Name = text(value)
			case attributeNamespace:
				if len(value) >= 4 {
					l.Namespace = int(int32(binary.NativeEndian.Uint32(value)))
				}
			case attributeInfo:
				attributes(value, func(kind int, value []byte) {
					if kind == attributeKind {
						l.Kind = text(value)
					}
				})
			}
		})
		if l.Name != "" && !strings.ContainsAny(l.Name, "/ ") && l.Name != "." && l.Name != ".." {
			links = append(links, l)
		}
	}
	return links, nil
}

// attributes calls use for each attribute: length and type of 16 bits each, then the value,
// padded to 4 bytes. It ends at the first that is incomplete.
func attributes(data []byte, use func(kind int, value []byte)) {
	const head = 4
	for len(data) >= head {
		length := int(binary.NativeEndian.Uint16(data))
		if length < head || length > len(data) {
			return
		}
		use(int(binary.NativeEndian.Uint16(data[2:]))&attributeType, data[head:length])
		data = data[min((length+3)&^3, len(data)):]
	}
}

func text(value []byte) string {
	s, _, _ := strings.Cut(string(value), "\x00")
	return s
}

// defaultRoute finds the interfaces of default routes in /proc/net/route: name, destination and
// gateway, then flags, counts and the mask, addresses in hexadecimal.
func defaultRoute(table string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 7 && f[1] == "00000000" && f[7] == "00000000" {
			found[f[0]] = true
		}
	}
	return found
}

// tunPolls reads the flags of a TUN or TAP device, of which IFF_NAPI is one.
func tunPolls(flags string) bool {
	const napi = 0x10
	n, err := strconv.ParseUint(strings.TrimSpace(flags), 0, 32)
	return err == nil && n&napi != 0
}
