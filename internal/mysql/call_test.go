package mysql

import (
	"strings"
	"testing"

	"plimsoll/internal/wire"
)

// What MariaDB 10.11 said to prepared calls of a procedure of one parameter, packet by
// packet.
var (
	calledPrepare = []string{
		"\x00\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00",
		"\x03def\x00\x00\x00\x01?\x00\f?\x00\x00\x00\x00\x00\x06\x80\x00\x00\x00\x00",
	}
	calledTwice = []string{ // a number and a text, and then two titles
		"\x02\x01",
		"\x03def\x00\x00\x00\x01a\x01a\f?\x00\v\x00\x00\x00\x03\x00\x00\x00\x00\x00",
		"\x03def\x00\x00\x00\x01x\x00\f-\x00\x04\x00\x00\x00\xfd\x01\x00'\x00\x00",
		"\x00\x00\x01\x00\x00\x00\x01x",
		"\xfe\x00\x00\n\x00\x00\x00",
		"\x01\x01",
		"\x03def\x01t\bproducts\bproducts\x05title\x05title\f-\x00\xc8\x00\x00\x00\xfd\b@\x00\x00\x00",
		"\x00\x00\nBACK CRACK",
		"\x00\x00\tBACK DACK",
		"\xfe\x00\x00\n\x00\x00\x00",
		"\x00\x00\x00\x02\x00\x00\x00",
	}
	calledAndFailed = []string{ // a number, and then an error
		"\x01\x01",
		"\x03def\x00\x00\x00\x015\x00\f?\x00\x01\x00\x00\x00\x03\x81\x00\x00\x00\x00",
		"\x00\x00\x05\x00\x00\x00",
		"\xfe\x00\x00\n\x00\x00\x00",
		"\xffl\x06#45000no",
	}
	calledSilent = []string{"\x00\x00\x00\x02\x00\x00\x00"}
)

// hears is the values of the rows that came of packets, and what they ended with.
func (s *Session) hears(t *testing.T, packets []string) (values []string, last Event) {
	t.Helper()
	for n, body := range packets {
		e, row, err := s.Hear(Packet{Body: []byte(body)})
		if err != nil {
			t.Fatalf("packet %d: %v", n, err)
		}
		if last = e; e != ARow {
			if e != Nothing && n < len(packets)-1 {
				t.Fatalf("the answer ends with packet %d of %d", n+1, len(packets))
			}
			continue
		}
		for row.More() {
			values = append(values, string(row.Text(nil)))
		}
		if err := row.End(); err != nil {
			t.Fatalf("packet %d: %v", n, err)
		}
	}
	return values, last
}

// A call of a procedure is answered once, with the rows of all its results.
func TestCall(t *testing.T) {
	s := NewSession(wire.Account{}, "", []*Statement{NewStatement("CALL two(?)", AsInt)})
	s.open()
	s.hears(t, calledPrepare)
	if !s.Serving() {
		t.Fatal("it is not prepared")
	}
	for _, c := range []struct {
		packets []string
		last    Event
		want    string
	}{
		{calledTwice, Done, "1 x BACK CRACK BACK DACK"},
		{calledAndFailed, Failed, "5"},
		{calledSilent, Done, ""},
		{calledTwice, Done, "1 x BACK CRACK BACK DACK"},
	} {
		b, place := s.AppendBind(nil, 0)
		AppendExecute(AppendInt(b, 1), place)
		values, last := s.hears(t, c.packets)
		if last != c.last || s.Pending() != 0 || strings.Join(values, " ") != c.want {
			t.Errorf("it is answered with %q and %d, %d to come", values, last, s.Pending())
		}
	}
	// Two calls at once are told apart.
	for range 2 {
		b, place := s.AppendBind(nil, 0)
		AppendExecute(AppendInt(b, 1), place)
	}
	if values, _ := s.hears(t, calledTwice); len(values) != 4 || s.Pending() != 1 {
		t.Errorf("%q, %d to come", values, s.Pending())
	}
	if _, last := s.hears(t, calledSilent); last != Done || s.Pending() != 0 {
		t.Errorf("%d, %d to come", last, s.Pending())
	}
}
