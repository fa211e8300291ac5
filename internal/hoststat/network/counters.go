package network

import (
	"bytes"
	"errors"
	"io/fs"
	"strconv"

	"plimsoll/internal/hoststat/parse"
)

// ParseCounters parses /proc/net/snmp and the like: pairs of lines: a line of names, then one of values, both after the name of
// the protocol.
func ParseCounters(text []byte, into map[string]float64) {
	var names [][]byte
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 2 {
			continue
		}
		if len(names) != len(f) || !bytes.Equal(names[0], f[0]) {
			names = f
			continue
		}
		protocol := string(bytes.TrimSuffix(f[0], []byte(":")))
		for i, name := range names[1:] {
			if value, ok := parse.Number(f[i+1]); ok {
				into[protocol+"."+string(name)] = value
			}
		}
		names = nil
	}
}

// ParseCounters6 parses /proc/net/snmp6, a counter in each line: those of UDP over IPv6, as Udp6.InDatagrams.
func ParseCounters6(text []byte, into map[string]float64) {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) != 2 {
			continue
		}
		value, ok := parse.Number(f[1])
		if name, udp := bytes.CutPrefix(f[0], []byte("Udp6")); udp && ok {
			into["Udp6."+string(name)] = value
		}
	}
}

// ReadSoftnet reads the queues between network devices and the kernel.
func (k *Reader) ReadSoftnet(n *State) error {
	text, err := k.file("proc/net/softnet_stat")
	if err != nil {
		return err
	}
	n.Softnet = parseSoftnet(text)
	return nil
}

// parseSoftnet parses lines of hexadecimal numbers: one per CPU that is online.
func parseSoftnet(text []byte) (all []Softnet) {
	for line := range bytes.Lines(text) {
		f := hexadecimal(line)
		if len(f) >= 3 {
			all = append(all, Softnet{f[0], f[1], f[2]})
		}
	}
	return all
}

func hexadecimal(line []byte) (f []float64) {
	for field := range bytes.FieldsSeq(line) {
		n, err := strconv.ParseUint(string(field), 16, 64)
		if err != nil {
			return nil
		}
		f = append(f, float64(n))
	}
	return f
}

// parseUDP parses /proc/net/udp: the sockets with drops.
func parseUDP(text []byte) (all []Datagrams) {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 13 {
			continue
		}
		drops, ok := parse.Number(f[12])
		_, port, found := bytes.Cut(f[1], []byte(":"))
		_, unread, also := bytes.Cut(f[4], []byte(":"))
		if !ok || drops == 0 || !found || !also || len(all) >= mostDatagrams {
			continue
		}
		p, q := hexadecimal(port), hexadecimal(unread)
		inode, _ := parse.Number(f[9])
		if len(p) == 1 && len(q) == 1 && inode < 1<<32 {
			all = append(all, Datagrams{Port: int(p[0]), Inode: uint32(inode), Drops: drops, Unread: q[0]})
		}
	}
	return all
}

// ReadConntrack reads how full the table of tracked connections is.
func (k *Reader) ReadConntrack(n *State) error {
	const folder = "proc/sys/net/netfilter/nf_conntrack_"
	count, err := k.file(folder + "count")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // this kernel tracks no connections
	}
	if err != nil {
		return err
	}
	c := &n.Conntrack
	c.Count, _ = parse.Number(count)
	if most, err := k.file(folder + "max"); err == nil {
		c.Max, _ = parse.Number(most)
	}
	if text, err := k.file("proc/net/stat/nf_conntrack"); err == nil {
		c.Drops = parseConntrack(text)
	}
	return nil
}

// parseConntrack adds up the drops of a table with a line per CPU.
func parseConntrack(text []byte) (drops float64) {
	var names [][]byte
	for line := range bytes.Lines(text) {
		if names == nil {
			names = bytes.Fields(bytes.Clone(line))
			continue
		}
		for i, value := range hexadecimal(line) {
			if i < len(names) && (string(names[i]) == "drop" || string(names[i]) == "early_drop") {
				drops += value
			}
		}
	}
	return drops
}
