package network

import (
	"bytes"

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
