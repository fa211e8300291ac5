package boot

import (
	"fmt"
	"net/netip"
	"strings"

	"plimsoll/internal/charset"
)

// bootOptions are plimsoll's options on the kernel command line.
type bootOptions struct {
	name       string
	addresses  []address
	ticketOnCD bool
}

// address is a static address of a network interface.
type address struct {
	device string
	prefix netip.Prefix // with the length of its network
}

// readWishes parses the kernel command line and skips options of others.
func readWishes(line string) (bootOptions, error) {
	w := bootOptions{name: "guest"}
	for word := range strings.FieldsSeq(line) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "plimsoll.name":
			if !charset.Name(value, ".-", 63) {
				return w, fmt.Errorf("kernel command line: %q is not a host name", value)
			}
			w.name = value
		case "plimsoll.addr":
			device, text, _ := strings.Cut(value, "=")
			prefix, err := netip.ParsePrefix(text)
			if err != nil || !charset.Name(device, "._-", 15) {
				return w, fmt.Errorf("kernel command line: %q is not an interface with an address, like plimsoll.addr=eth0=10.9.0.2/24", word)
			}
			w.addresses = append(w.addresses, address{device, prefix})
		case "plimsoll.lab":
			if value != "cd" {
				return w, fmt.Errorf("kernel command line: %q: the lab's ticket is on a cd", word)
			}
			w.ticketOnCD = true
		}
	}
	return w, nil
}
