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
	if err != nil || len(all) != 2 || all[1].Protocol != MariaDB || all[1].Address != "b:2" || all[1].User != "u" || !slices.Equal(Further(all), []string{"b:2"}) {
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
	s := NewSession(postgres.Account{User: "u"}, NoCommit, NewBook(MariaDB, list))
	s.all(t, said(0, hello)+said(2, fine)+said(1, fine)+said(1, "\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
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
	s := NewSession(postgres.Account{User: "u"}, "", NewBook(PostgreSQL, list))
	if s.Begun() || s.GoesOn() || len(s.AppendStart(nil)) == 0 || !s.Begun() {
		t.Error("it does not begin")
	}
	message := func(kind byte, body string) string {
		return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))) + body
	}
	s.all(t, message('Z', "I")+message('1', "")+message('1', "")+message('Z', "I"))
	if b := s.AppendEnd(s.Append(nil, 1, Int(7), Text([]byte("red")))); !s.Serving() || !strings.Contains(string(b), "\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x03red") {
		t.Errorf("it says %q", b)
	}
	e := s.all(t, message('D', "")+message('C', "X\x00")+message('E', "C40P01\x00Mx\x00\x00")+message('Z', "E")+message('Z', "I"))
	if !e[0].Row || !e[1].Done || e[2].Fault == nil || !e[2].Conflict || !e[3].Over || e[3].Idle || !e[4].Idle {
		t.Errorf("%+v", e)
	}
}
