package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
)

func TestMarks(t *testing.T) {
	for _, c := range []struct {
		sql, want string
		order     []int
	}{
		{"BEGIN", "BEGIN", nil},
		{"UPDATE t SET a = $2 WHERE b = $1 AND c < $2 - 1", "UPDATE t SET a = ? WHERE b = ? AND c < ? - 1", []int{1, 0, 1}},
		{"SELECT $10, '$'", "SELECT ?, '$'", []int{9}},
	} {
		if sql, order := marks(c.sql); sql != c.want || !slices.Equal(order, c.order) {
			t.Errorf("%s becomes %s, %v", c.sql, sql, order)
		}
	}
}

func TestServers(t *testing.T) {
	dial := func(context.Context, load.Endpoint) (net.Conn, error) { return nil, errors.New("not here") }
	none := errors.New("it speaks nothing")
	all, err := Servers(func(protocol string) (load.Endpoint, error) {
		if protocol != MariaDB {
			return load.Endpoint{}, none
		}
		return load.Endpoint{Network: "tcp", Address: "a:1", More: []string{"b:2"}, User: "u"}, nil
	}, dial)
	if err != nil || len(all) != 2 || all[1].Protocol != MariaDB || all[1].Address != "b:2" || all[1].User != "u" || !slices.Equal(further(all), []string{"b:2"}) {
		t.Errorf("got %+v, %v", all, err)
	}
	for protocol, want := range map[string]string{PostgreSQL: "not here", MariaDB: "not here"} {
		all[0].Protocol = protocol
		if _, err := Dial(t.Context(), all[0], "d"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", protocol, err)
		}
	}
	if _, err := Servers(func(string) (load.Endpoint, error) { return load.Endpoint{}, none }, dial); !errors.Is(err, none) {
		t.Errorf("got %v", err)
	}
}

// list has its parameters in another order than MariaDB takes them.
var list = []Statement{
	{Name: "begin", SQL: "BEGIN", Plain: true},
	{Name: "turn", SQL: "UPDATE t SET a = $2 WHERE b = $1", Parameters: []Format{AsInt, AsText}},
	{
		Name: "pay", SQL: "UPDATE t SET b = b + $2 WHERE i = $1 RETURNING b", Parameters: []Format{AsLong, AsDecimal},
		MariaDB: []string{"UPDATE t SET b = b + $2 WHERE i = $1", "SELECT b FROM t WHERE i = $1"},
	},
}

func said(number byte, body string) string {
	return string([]byte{byte(len(body)), 0, 0, number}) + body
}

const (
	hello = "\n10.11.19-MariaDB\x00\x07\x00\x00\x00abcdefgh\x00\xfe\xf7\x2d\x02\x00\xff\x81\x15\x00\x00\x00\x00\x00\x00\x1d\x00\x00\x00ijklmnopqrst\x00mysql_native_password\x00"
	fine  = "\x00\x00\x00\x02\x00\x00\x00"
	open  = "\x00\x00\x00\x03\x00\x00\x00"
)

func (s *Session) all(t *testing.T, data string) (events []Event) {
	t.Helper()
	for len(data) > 0 {
		e, used, err := s.Hear([]byte(data))
		if err != nil || used == 0 {
			t.Fatalf("%q: %d, %v", data, used, err)
		}
		data = data[used:]
		events = append(events, e)
	}
	return events
}

func serving(t *testing.T) *Session {
	t.Helper()
	s := NewSession(wire.Account{User: "u"}, NoCommit, NewBook(MariaDB, list))
	s.all(t, said(0, hello)+said(2, fine)+said(1, fine))
	for n := range 3 {
		s.all(t, said(1, "\x00"+string(rune('7'+n))+"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	}
	if b := s.AppendNext(nil); !s.Serving() || !s.Begun() || !s.GoesOn() || !strings.Contains(string(b), NoCommit) {
		t.Fatalf("it says %q", b)
	}
	return s
}

func TestMariaDB(t *testing.T) {
	s := serving(t)
	b := s.AppendEnd(s.Append(s.Append(nil, 0), 1, Int(7), Text([]byte("red"))))
	if want := said(0, "\x03BEGIN"); !strings.HasPrefix(string(b), want) || !strings.HasSuffix(string(b), "\x03red\x07\x00\x00\x00") {
		t.Errorf("it says %q", b)
	}
	if e := s.all(t, said(1, open)+said(1, open)); !e[0].Done || e[0].Over || !e[1].Done || !e[1].Over || e[1].Idle {
		t.Errorf("%+v", e)
	}
	s.AppendEnd(s.Append(s.Append(nil, 1, Int(7), Text(nil)), 1, Int(8), Text(nil)))
	// After a deadlock the rest of the round is done all the same.
	e := s.all(t, said(1, "\xff\xbd\x04#40001Deadlock found")+said(1, fine))
	if e[0].Fault == nil || !e[0].Conflict || e[0].Over || !e[1].Over || e[1].Idle {
		t.Errorf("%+v", e)
	}
	if _, _, err := s.Hear([]byte(said(0, "\xff\x87\x07killed"))); !errors.Is(err, load.ErrRefused) {
		t.Errorf("a session that was killed: %v", err)
	}
}

func TestErrors(t *testing.T) {
	for err, want := range map[error][2]bool{ // absent, refused
		&postgres.Fault{Code: postgres.NoSuchDatabase}: {true, true},
		&mysql.Fault{Code: mysql.NoSuchDatabase}:       {true, true},
		&mysql.Fault{Code: mysql.NoSuchTable}:          {false, true},
		&mysql.Fault{Code: mysql.TooManyConnections}:   {false, false},
		&postgres.Fault{Code: "42P01", Fatal: true}:    {false, false},
		errors.New("x"): {false, false},
	} {
		if got := [2]bool{Absent(err), Refused(err)}; got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestStatementsAllocateNothing(t *testing.T) {
	s := serving(t)
	b, text := make([]byte, 0, 1024), []byte("red")
	answers := []byte(said(1, open) + said(1, fine))
	if n := testing.AllocsPerRun(100, func() {
		s.AppendEnd(s.Append(s.Append(b, 0), 1, Int(7), Text(text)))
		_, used, _ := s.Hear(answers)
		_, _, _ = s.Hear(answers[used:])
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestPostgreSQL(t *testing.T) {
	s := NewSession(wire.Account{User: "u"}, "", NewBook(PostgreSQL, list))
	if s.Begun() || s.GoesOn() || len(s.AppendStart(nil)) == 0 || !s.Begun() {
		t.Error("it does not begin")
	}
	message := func(kind byte, body string) string {
		return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))) + body
	}
	s.all(t, message('Z', "I")+message('1', "")+message('1', "")+message('1', "")+message('Z', "I"))
	if b := s.AppendEnd(s.Append(nil, 1, Int(7), Text([]byte("red")))); !s.Serving() || !strings.Contains(string(b), "\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x03red") {
		t.Errorf("it says %q", b)
	}
	e := s.all(t, message('D', "")+message('C', "X\x00")+message('E', "C40P01\x00Mx\x00\x00")+message('Z', "E")+message('Z', "I"))
	if e[0].Row == nil || !e[1].Done || e[2].Fault == nil || !e[2].Conflict || !e[3].Over || e[3].Idle || !e[4].Idle {
		t.Errorf("%+v", e)
	}
}

// column is the definition of one of a type.
func column(kind byte) string {
	return "\x03def\x00\x00\x00\x00\x00\x0c\x3f\x00\x14\x00\x00\x00" + string([]byte{kind}) + "\x00\x00\x00\x00\x00"
}

// What MariaDB is asked in several statements is one for the load.
func TestSeveralStatementsAreOne(t *testing.T) {
	s := serving(t)
	b := string(s.AppendEnd(s.Append(s.Append(nil, 2, Int(1<<40), Decimal(-1050)), 2, Int(2), Decimal(5))))
	if !strings.Contains(b, "\x00\x00\x00\x00\x00\x01\x00\x00") || !strings.Contains(b, "\x06-10.50") || !strings.Contains(b, "\x040.05") {
		t.Errorf("it says %q", b)
	}
	rows := said(1, "\x03") + said(2, column(253)) + said(3, column(8)) + said(4, column(1)) +
		said(6, "\x00\x00\x03red\x2a\x00\x00\x00\x00\x00\x00\x00\x01") + said(7, "\xfe\x00\x00\x03\x00\x00\x00")
	var done, seen int
	for _, data := range []string{said(1, open), rows, said(1, "\xff\x15\x04no"), said(1, fine)} {
		for len(data) > 0 {
			e, used, err := s.Hear([]byte(data))
			if err != nil {
				t.Fatal(err)
			}
			data = data[used:]
			if e.Row != nil {
				seen++
				// NULL has a bit of its own, and integers do not travel as text.
				if a := string(e.Row.Value()); a != "red" {
					t.Errorf("a value is %q", a)
				}
				if b := string(e.Row.Value()); b != "42" || !e.Row.Bool() || e.Row.Rest() != nil {
					t.Errorf("a row has %q", b)
				}
			}
			if e.Done {
				done++
			}
			if e.Over != (len(data) == 0 && done == 2) {
				t.Errorf("%+v after %d", e, done)
			}
		}
	}
	if done != 2 || seen != 1 {
		t.Errorf("%d statements, %d rows", done, seen)
	}
}

// A row is read alike on both engines.
func TestRow(t *testing.T) {
	whole := postgres.ReadRow(postgres.AppendText(postgres.AppendText(postgres.AppendText([]byte{0, 3}, "12.5"), "t"), "x"))
	p := Row{&whole}
	if n := p.Decimal(2); n != 1250 || !p.Bool() || !p.More() || p.Rest() != nil || p.More() {
		t.Errorf("%d, %+v", n, p)
	}
	for what, r := range map[string]*Row{"PostgreSQL": {&postgres.Row{}}, "MariaDB": {&mariaRow{}}} {
		if r.Value() != nil || r.End() == nil {
			t.Errorf("a row without values has one on %s", what)
		}
	}
}
