package scene

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Link is a network between this host and a namespace of its own.
type Link struct {
	Space     string // name of the namespace
	Device    string // at both ends
	Near, Far string // addresses
	rules     int    // filters at the near end
}

// Path is how packets fare on a link, in each direction.
type Path struct {
	Delay time.Duration
	Loss  int // of 1,000 packets
	Rate  int // bytes per second; 0 without limit
	Queue int // longest, in packets, at a rate
}

// Link makes a namespace and a link to it.
func (s *Scene) Link(p Path) (*Link, error) {
	id := os.Getpid() % 250
	l := &Link{Space: fmt.Sprint("plimsoll-causes-", os.Getpid()), Device: fmt.Sprint("link", id), Near: fmt.Sprintf("10.214.%d.1", id), Far: fmt.Sprintf("10.214.%d.2", id)}
	if err := s.space(l.Space); err != nil {
		return nil, err
	}
	argv := []string{"link", "--namespace", l.Space, "--name", l.Device, "--delay", p.Delay.String(), "--loss", strconv.Itoa(p.Loss), "--rate", strconv.Itoa(p.Rate), "--limit", strconv.Itoa(p.Queue)}
	process, err := s.Part("relay", Command{Argv: argv})
	if err != nil {
		return nil, err
	}
	if err := s.Wait("the link's devices", func() bool {
		_, err := s.Run("ip", "-n", l.Space, "link", "show", l.Device)
		return err == nil || process.ended()
	}); err != nil {
		return nil, err
	}
	if err := process.Failed(); err != nil {
		return nil, err
	}
	return l, s.addresses(l)
}

// Wire makes a namespace and a pair of virtual Ethernet devices to it.
func (s *Scene) Wire() (*Link, error) {
	id := os.Getpid() % 250
	l := &Link{Space: fmt.Sprint("plimsoll-causes-", os.Getpid()), Device: fmt.Sprint("wire", id), Near: fmt.Sprintf("10.215.%d.1", id), Far: fmt.Sprintf("10.215.%d.2", id)}
	if err := s.space(l.Space); err != nil {
		return nil, err
	}
	if _, err := s.Run("ip", "link", "add", l.Device, "type", "veth", "peer", "name", l.Device, "netns", l.Space); err != nil {
		return nil, err
	}
	s.Undo(func() error { return afterwards("ip", "link", "del", l.Device) })
	return l, s.addresses(l)
}

// space makes a network namespace.
func (s *Scene) space(name string) error {
	if _, err := s.Run("ip", "netns", "add", name); err != nil {
		return err
	}
	s.Undo(func() error { return afterwards("ip", "netns", "del", name) })
	return nil
}

// addresses gives both ends their addresses.
func (s *Scene) addresses(l *Link) error {
	for _, argv := range [][]string{
		{"ip", "addr", "add", l.Near + "/24", "dev", l.Device},
		{"ip", "link", "set", l.Device, "up"},
		{"ip", "-n", l.Space, "addr", "add", l.Far + "/24", "dev", l.Device},
		{"ip", "-n", l.Space, "link", "set", l.Device, "up"},
		{"ip", "-n", l.Space, "link", "set", "lo", "up"},
	} {
		if _, err := s.Run(argv...); err != nil {
			return err
		}
	}
	return nil
}

// Steer puts the protocol work of all packets that arrive at the near end on one CPU.
func (l *Link) Steer(cpu int) error {
	return write("/sys/class/net/"+l.Device+"/queues/rx-0/rps_cpus", fmt.Sprintf("%x", 1<<cpu))
}

// Rules adds filters, up to so many, with which every packet that arrives at the near end is compared, as a long list
// of firewall rules does. None of them matches.
func (l *Link) Rules(s *Scene, n int) error {
	const list = 4000 // filters of one priority: the kernel's numbers of u32 filters have 12 bits
	var batch []byte
	if l.rules == 0 {
		batch = fmt.Appendf(batch, "qdisc add dev %s ingress\n", l.Device)
	}
	for ; l.rules < n; l.rules++ {
		batch = fmt.Appendf(batch, "filter add dev %s parent ffff: protocol ip prio %d u32 match ip src 10.216.%d.%d/32 flowid :1\n", l.Device, 1+l.rules/list, l.rules/256, l.rules%256)
	}
	if err := os.WriteFile(s.Path("rules"), batch, 0o644); err != nil {
		return err
	}
	_, err := s.Run("tc", "-batch", s.Path("rules"))
	return err
}
