package responder

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// memcached speaks the text protocol of memcached.
type memcached struct {
	keys   *store
	counts *counts
	words  [][]byte // of the first line, within data
	data   []byte   // the value to store
	quit   bool
}

const longestKey = 250

func (m *memcached) next(data []byte) (int, error) {
	m.words, m.data = m.words[:0], nil
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		if len(data) > longestHead {
			return 0, errTooLong
		}
		return 0, nil
	}
	for rest := bytes.TrimSuffix(data[:end], []byte("\r")); ; {
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) == 0 {
			break
		}
		blank := bytes.IndexByte(rest, ' ')
		if blank < 0 {
			blank = len(rest)
		}
		m.words = append(m.words, rest[:blank])
		rest = rest[blank:]
	}
	used := end + 1
	if len(m.words) < 5 || string(m.words[0]) != "set" {
		return used, nil
	}
	size, ok := digits(m.words[4])
	if !ok || len(m.words[1]) > longestKey {
		return 0, errMalformed
	}
	if size > longestRequest {
		return 0, errTooLong
	}
	if len(data) < used+size+2 {
		return 0, nil
	}
	m.data = data[used : used+size]
	if used += size; data[used] != '\r' || data[used+1] != '\n' {
		return 0, errMalformed
	}
	return used + 2, nil
}

func (m *memcached) last() bool { return m.quit }

func (m *memcached) failure(out []byte, why string) []byte {
	return append(append(append(out, "SERVER_ERROR "...), why...), "\r\n"...)
}

// quiet reports that the client requested no response.
func (m *memcached) quiet() bool {
	name := string(m.words[0])
	return (name == "set" || name == "delete" || name == "flush_all") && string(m.words[len(m.words)-1]) == "noreply"
}

func (m *memcached) answer(out []byte) []byte {
	if len(m.words) == 0 {
		return append(out, "ERROR\r\n"...)
	}
	before := len(out)
	out = m.reply(out)
	if m.quiet() {
		return out[:before]
	}
	return out
}

func (m *memcached) reply(out []byte) []byte {
	switch name := string(m.words[0]); {
	case (name == "get" || name == "gets") && len(m.words) > 1:
		for _, key := range m.words[1:] {
			out = m.value(out, key, name == "gets")
		}
		return append(out, "END\r\n"...)
	case name == "set" && m.data != nil:
		flags, err := strconv.ParseUint(string(m.words[2]), 10, 32)
		if err != nil {
			return append(out, "CLIENT_ERROR bad command line format\r\n"...)
		}
		m.keys.set(m.words[1], bytes.Clone(m.data), uint32(flags))
		return append(out, "STORED\r\n"...)
	case name == "delete" && len(m.words) > 1:
		if m.keys.remove(m.words[1]) {
			return append(out, "DELETED\r\n"...)
		}
		return append(out, "NOT_FOUND\r\n"...)
	case name == "flush_all":
		m.keys.clear()
		return append(out, "OK\r\n"...)
	case name == "version":
		return append(out, "VERSION 0.0.0-plimsoll\r\n"...)
	case name == "stats" && len(m.words) == 1:
		return m.stats(out)
	case name == "quit":
		m.quit = true
		return out
	}
	return append(out, "ERROR\r\n"...)
}

func (m *memcached) value(out, key []byte, stamp bool) []byte {
	v, ok := m.keys.get(key)
	if !ok {
		return out
	}
	out = append(append(append(out, "VALUE "...), key...), ' ')
	out = append(strconv.AppendUint(out, uint64(v.flags), 10), ' ')
	out = strconv.AppendInt(out, int64(len(v.data)), 10)
	if stamp {
		out = strconv.AppendUint(append(out, ' '), v.stamp, 10)
	}
	out = append(append(out, "\r\n"...), v.data...)
	return append(out, "\r\n"...)
}

func (m *memcached) stats(out []byte) []byte {
	keys, size := m.keys.size()
	for name, n := range map[string]int64{
		"pid": int64(os.Getpid()), "curr_items": int64(keys), "bytes": size,
		"total_connections": m.counts.connections.Load(), "evictions": 0,
	} {
		out = append(out, fmt.Sprintf("STAT %s %d\r\n", name, n)...)
	}
	return append(out, "END\r\n"...)
}
