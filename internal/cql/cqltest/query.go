package cqltest

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
)

var (
	noted   = regexp.MustCompile(`VALUES \(1, '(.*)', (\d+), (\d+)\)`)
	renewed = regexp.MustCompile(`SET next = (\d+)`)
)

// query answers the queries of a workload beside its load.
func (s *Server) query(asked string) (byte, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case strings.HasPrefix(asked, "SELECT host_id") && s.ring != nil:
		return 8, texts(s.ring.rows(s, strings.Contains(asked, "system.local"))...)
	case strings.Contains(asked, "tokens FROM system.local"):
		return 8, texts([]string{s.Tokens})
	case strings.Contains(asked, "release_version"):
		return 8, texts([]string{"5.0"})
	case strings.HasPrefix(asked, "SELECT replication, durable_writes"):
		return 8, texts([]string{"{'class': 'SimpleStrategy', 'replication_factor': '1'}", "true"})
	case strings.Contains(asked, "system_schema.keyspaces"):
		return 8, texts([]string{"system"})
	case strings.HasPrefix(asked, "SELECT table_name"):
		return 8, texts([]string{"iot"})
	case strings.HasPrefix(asked, "SELECT schema_version"):
		return 8, texts([]string{"1"})
	case strings.Contains(asked, "thread_pools"):
		return 8, texts([]string{"0", "0"})
	case strings.HasPrefix(asked, "SELECT made") && s.note == nil:
		return fault(0x2200, "keyspace does not exist")
	case strings.HasPrefix(asked, "SELECT made"):
		return 8, texts(s.note)
	case strings.HasPrefix(asked, "DROP"):
		s.note = nil
		clear(s.rows)
	case noted.MatchString(asked):
		s.note = noted.FindStringSubmatch(asked)[1:]
	case renewed.MatchString(asked) && s.note != nil:
		s.note[2] = renewed.FindStringSubmatch(asked)[1]
	}
	return 8, void
}

// texts is a result of text rows with the same number of columns.
func texts(rows ...[]string) []byte {
	columns := 0
	for _, row := range rows {
		columns = len(row)
	}
	b := append([]byte{0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0}, byte(columns))
	b = text(text(b, "k"), "t")
	for i := range columns {
		b = append(text(b, fmt.Sprint("c", i)), 0, 13)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(rows)))
	for _, row := range rows {
		for _, v := range row {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		}
	}
	return b
}
