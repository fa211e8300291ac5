package network

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/netip"
	"strconv"

	"plimsoll/internal/hoststat/parse"
)

// mostSockets bounds the sockets that are kept of a reading of files.
const mostSockets = 100_000

// socketFiles reads TCP sockets from /proc/net/tcp and tcp6, for kernels and containers that do
// not answer by netlink. They have states, queues and owners, but no counters and no backlogs.
type socketFiles struct {
	root   Files
	buffer []byte
	all    []socket
}

// socket is a line of such a file.
type socket struct {
	space         int
	state         byte
	local, remote netip.AddrPort
	inode, queue  uint32 // queue: of a socket that listens, connections not accepted
}

// dump reads the sockets in some states. Listening ones are asked for first in a reading: the
// files are read then.
func (f *socketFiles) dump(spaces []int, states uint32, use func(space int, c connection)) error {
	if states&(1<<listening) != 0 {
		if err := f.read(spaces); err != nil {
			return err
		}
	}
	for i := range f.all {
		s := &f.all[i]
		if states&(1<<s.state) == 0 {
			continue
		}
		cookie := uint64(s.inode)
		if cookie == 0 { // not accepted yet, or in TIME_WAIT
			at := s.remote.Addr().As16()
			cookie = uint64(s.local.Port())<<48 | uint64(s.remote.Port())<<32 | uint64(binary.BigEndian.Uint32(at[12:]))
		}
		use(s.space, connection{state: s.state, local: s.local, remote: s.remote, cookie: cookie, inode: s.inode, queue: s.queue})
	}
	return nil
}

func (f *socketFiles) read(spaces []int) error {
	f.all = f.all[:0]
	found := false
	for _, space := range append([]int{0}, spaces...) {
		folder := "proc/net/"
		if space != 0 {
			folder = "proc/" + strconv.Itoa(space) + "/net/"
		}
		for _, name := range []string{"tcp", "tcp6"} {
			text, err := f.root.Append(f.buffer[:0], folder+name)
			f.buffer = text[:0]
			switch {
			case err == nil:
				found = true
				f.all = parseSockets(f.all, text, space)
			case space == 0 && !errors.Is(err, fs.ErrNotExist):
				return err
			}
		}
	}
	if !found {
		return errors.New("/proc/net has no tcp")
	}
	return nil
}

// parseSockets parses /proc/net/tcp (Documentation/networking/proc_net_tcp.rst).
func parseSockets(into []socket, text []byte, space int) []socket {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 10 || len(into) >= mostSockets {
			continue
		}
		local, ok := parseAddress(f[1])
		remote, also := parseAddress(f[2])
		state, err := strconv.ParseUint(string(f[3]), 16, 5)
		_, waiting, found := bytes.Cut(f[4], []byte(":"))
		queue, err2 := strconv.ParseUint(string(waiting), 16, 32)
		inode, known := parse.Number(f[9])
		if !ok || !also || err != nil || err2 != nil || !found || !known || inode >= 1<<32 {
			continue
		}
		into = append(into, socket{space, byte(state), local, remote, uint32(inode), uint32(queue)})
	}
	return into
}

// parseAddress parses an address in words of 32 bits in the byte order of the host, and a port:
// "0100007F:0CEA".
func parseAddress(field []byte) (netip.AddrPort, bool) {
	words, port, found := bytes.Cut(field, []byte(":"))
	number, err := strconv.ParseUint(string(port), 16, 16)
	raw := make([]byte, hex.DecodedLen(len(words)))
	if _, err2 := hex.Decode(raw, words); err != nil || err2 != nil || !found || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	at, _ := netip.AddrFromSlice(raw) // of 4 or 16 bytes
	return netip.AddrPortFrom(at.Unmap(), uint16(number)), true
}
