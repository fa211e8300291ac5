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
	l := &Link{fmt.Sprint("plimsoll-causes-", os.Getpid()), fmt.Sprint("link", id), fmt.Sprintf("10.214.%d.1", id), fmt.Sprintf("10.214.%d.2", id)}
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
	l := &Link{fmt.Sprint("plimsoll-causes-", os.Getpid()), fmt.Sprint("wire", id), fmt.Sprintf("10.215.%d.1", id), fmt.Sprintf("10.215.%d.2", id)}
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

// Rules has every packet that arrives at the near end compared with so many filters, none of which matches, as a long
// list of firewall rules does.
func (l *Link) Rules(s *Scene, n int) error {
	var batch []byte
	batch = fmt.Appendf(batch, "qdisc add dev %s ingress\n", l.Device)
	for i := range n {
		batch = fmt.Appendf(batch, "filter add dev %s parent ffff: protocol ip prio 1 u32 match ip src 10.216.%d.%d/32 flowid :1\n", l.Device, i/256, i%256)
	}
	if err := os.WriteFile(s.Path("rules"), batch, 0o644); err != nil {
		return err
	}
	_, err := s.Run("tc", "-batch", s.Path("rules"))
	return err
}
