package engine

import (
	"encoding/binary"
	"testing"

	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
)

// texts and numbers, as a transaction of order entry has them.
var mixed = []Statement{
	{Name: "a", SQL: "SELECT a FROM t WHERE b = $1 AND c = $2", Parameters: []Format{AsInt, AsInt}},
	{Name: "b", SQL: "UPDATE t SET a = $1 WHERE b = $2 AND c = $3 AND d = $4 AND e = $5", Parameters: []Format{AsInt, AsInt, AsInt, AsInt, AsInt}},
	{
		Name: "c", SQL: "INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		Parameters: []Format{AsInt, AsInt, AsInt, AsInt, AsInt, AsInt, AsInt, AsDecimal, AsText},
	},
}

// begun is a session that serves, and the answer to a statement of it.
func begun(b *testing.B, protocol string) (*Session, []byte) {
	message := func(kind byte, body string) string {
		return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))) + body
	}
	s := NewSession(wire.Account{User: "u"}, "", NewBook(protocol, mixed))
	prepared := said(1, "\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	words := []string{said(0, hello), said(2, fine), prepared, prepared, prepared}
	answer := said(1, "\x03") + said(2, column(3)) + said(3, column(253)) + said(4, column(253)) +
		said(6, "\x00\x00\x67\x12\x00\x00\x0512.50\x0asome words") + said(7, "\xfe\x00\x00\x03\x00\x00\x00")
	if protocol == PostgreSQL {
		s.AppendStart(nil)
		words = []string{message('Z', "I"), message('1', ""), message('1', ""), message('1', ""), message('Z', "I")}
		row := []byte{0, 3}
		for _, v := range []string{"4711", "12.50", "some words"} {
			row = postgres.AppendText(row, v)
		}
		answer = message('2', "") + message('D', string(row)) + message('C', "SELECT 1\x00")
	}
	for _, m := range words {
		if _, _, err := s.Hear([]byte(m)); err != nil {
			b.Fatal(err)
		}
	}
	if !s.Serving() {
		b.Fatal("it does not serve")
	}
	return s, []byte(answer)
}

// BenchmarkTransaction says a transaction of 20 statements and hears a row of three columns
// for each.
func BenchmarkTransaction(b *testing.B) {
	text := []byte("twenty-four random chars")
	buffer := make([]byte, 0, 16<<10)
	say := func(s *Session) {
		data := buffer
		for n := range 20 {
			switch n % 3 {
			case 0:
				data = s.Append(data, 0, Int(n), Int(7))
			case 1:
				data = s.Append(data, 1, Int(n), Int(1), Int(2), Int(3), Int(4))
			default:
				data = s.Append(data, 2, Int(n), Int(1), Int(2), Int(3), Int(4), Int(5), Int(6), Decimal(1050), Text(text))
			}
		}
		s.AppendEnd(data)
	}
	hear := func(b *testing.B, s *Session, answer []byte) {
		for at := 0; at < len(answer); {
			e, used, err := s.Hear(answer[at:])
			if err != nil || used == 0 {
				b.Fatal(used, err)
			}
			if at += used; e.Row == nil {
				continue
			}
			if e.Row.Int() != 4711 || e.Row.Decimal(2) != 1250 || len(e.Row.Value()) != 10 || e.Row.End() != nil {
				b.Fatal("a bad row")
			}
		}
	}
	b.Run("said", func(b *testing.B) {
		for s, _ := begun(b, PostgreSQL); b.Loop(); {
			say(s)
		}
	})
	for _, protocol := range Protocols() {
		b.Run(protocol, func(b *testing.B) {
			for s, answer := begun(b, protocol); b.Loop(); {
				say(s)
				for range 20 {
					hear(b, s, answer)
				}
			}
		})
	}
}
