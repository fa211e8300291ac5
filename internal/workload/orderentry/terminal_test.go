package orderentry

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
)

// said is a message of a server.
func said(kind byte, body string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(b, body...)
}

func rowOf(values ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(values)))
	for _, v := range values {
		b = postgres.AppendText(b, v)
	}
	return said(postgres.DataRow, string(b))
}

var (
	done     = said(postgres.CommandComplete, "X\x00")
	idle     = said(postgres.Ready, "I")
	within   = said(postgres.Ready, "T")
	broken   = said(postgres.Ready, "E")
	deadlock = said(postgres.Failure, "SERROR\x00C40P01\x00Mdeadlock detected\x00\x00")
	noTable  = said(postgres.Failure, "SERROR\x00C42P01\x00Mno such table\x00\x00")
)

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// sitting is a terminal whose session has begun, with a stock level under way.
func sitting(t *testing.T) *terminal {
	t.Helper()
	s := &terminal{source: newSource(1, 1), z: size{warehouses: 1, items: 100, customers: 30}, session: postgres.NewSession(postgres.Account{User: "u"}, "", statements()), retries: 1, tally: &tally{}, tasks: make([]task, 2)}
	b, class := s.Request(nil, 0)
	if len(b) == 0 || class >= int(kinds) {
		t.Fatalf("it begins with %q, class %d", b, class)
	}
	s.tasks[0].kind = stockLevel
	s.answer(t, join(said(postgres.Authentication, "\x00\x00\x00\x00"), idle), load.NoSlot)
	if b = s.Next(nil); strings.Count(string(b), "P\x00") < len(statements()) {
		t.Fatalf("it prepares %q", b)
	}
	for range statements() {
		s.answer(t, said(postgres.ParseComplete, ""), load.NoSlot)
	}
	s.answer(t, idle, load.NoSlot)
	s.says(t, "sl_district")
	return s
}

func (t *terminal) answer(test *testing.T, data []byte, slot int) load.Answer {
	test.Helper()
	a, used, err := t.Answer(data)
	if err != nil || used != len(data) || a.Slot != slot {
		test.Fatalf("%q: %+v, %d of %d, %v", data, a, used, len(data), err)
	}
	return a
}

func (t *terminal) says(test *testing.T, word string) {
	test.Helper()
	if b := t.Next(nil); !strings.Contains(string(b), word) || word == "" && len(b) > 0 {
		test.Fatalf("it says %q, not %s", b, word)
	}
}

func TestTransactionToItsEnd(t *testing.T) {
	s := sitting(t)
	// Another user waits for the connection.
	if b, _ := s.Request(nil, 1); len(b) > 0 {
		t.Errorf("it says %q out of turn", b)
	}
	s.tasks[1].kind = delivery
	s.answer(t, join(done, rowOf("31"), done, within), load.NoSlot)
	s.says(t, "sl_count")
	if a := s.answer(t, join(rowOf("3"), done, done, idle), 0); a.Failed {
		t.Errorf("%+v", a)
	}
	s.says(t, "dy_turn")
	if s.tally.done[stockLevel] != 1 {
		t.Errorf("%+v", s.tally)
	}
}

func TestVictimIsTriedAgain(t *testing.T) {
	s := sitting(t)
	for round := range 2 {
		s.answer(t, join(done, deadlock, broken), load.NoSlot)
		s.says(t, "rollback")
		if round == 0 {
			s.answer(t, join(done, idle), load.NoSlot)
			s.says(t, "sl_district")
		}
	}
	if a := s.answer(t, join(done, idle), 0); !a.Failed || s.tally.retries != 1 {
		t.Errorf("after the last attempt: %+v, %+v", a, s.tally)
	}
}

func TestRefusedTransactionFails(t *testing.T) {
	s := sitting(t)
	s.answer(t, join(noTable, broken), load.NoSlot)
	s.says(t, "rollback")
	if a := s.answer(t, join(done, idle), 0); !a.Failed || !strings.Contains(s.tally.why, "no such table") {
		t.Errorf("%+v, %+v", a, s.tally)
	}
	s.says(t, "")
}

func TestServerThatMakesNoSense(t *testing.T) {
	for what, data := range map[string][]byte{
		"another protocol": []byte("+OK\r\n"),
		"a row too many":   join(done, rowOf("31", "32")),
		"no number":        join(done, rowOf("many")),
		"no such state":    said(postgres.Ready, "X"),
		"a farewell":       said(postgres.Failure, "SFATAL\x00VFATAL\x00C57P01\x00Mterminating connection\x00\x00"),
	} {
		if _, _, err := sitting(t).Answer(data); err == nil || errors.Is(err, load.ErrRefused) != (what == "a farewell") {
			t.Errorf("%s: %v", what, err)
		}
	}
	s := sitting(t)
	s.answer(t, join(done, rowOf("31"), done, within), load.NoSlot)
	s.Next(nil)
	s.answer(t, join(rowOf("3"), done, done, idle), 0)
	if _, _, err := s.Answer(idle); err == nil {
		t.Error("an answer that nobody asked for is believed")
	}
}

// A transaction allocates nothing.
func TestTransactionsAllocateNothing(t *testing.T) {
	s := sitting(t)
	b := make([]byte, 0, 1<<16)
	first, second := join(done, rowOf("31"), done, within), join(rowOf("3"), done, done, idle)
	s.answer(t, first, load.NoSlot)
	s.Next(b)
	s.answer(t, second, 0)
	if n := testing.AllocsPerRun(200, func() {
		s.Request(b, 0)
		s.tasks[s.from%2].kind = stockLevel
		s.tx.kind = stockLevel
		_, _, _ = s.Answer(first)
		s.Next(b)
		_, _, _ = s.Answer(second)
		s.Next(b)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// Whatever a server sends, nothing panics and nothing is used that is not there.
func FuzzAnswer(f *testing.F) {
	f.Add(join(done, rowOf("31"), done, within, rowOf("3"), done, done, idle), uint8(stockLevel))
	f.Add(join(done, rowOf("1", "0.1"), done, rowOf("0.1"), done, within), uint8(newOrder))
	f.Add(join(done, rowOf(""), done, rowOf("7"), done, within, rowOf("3"), done, rowOf("1.5"), done, idle), uint8(delivery))
	serving := postgres.NewSession(postgres.Account{}, "", nil)
	serving.AppendStart(nil)
	for range 2 {
		if err := serving.Hear(postgres.Message{Kind: postgres.Ready, Body: []byte("I")}); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, k uint8) {
		s := &terminal{source: newSource(1, 1), z: size{warehouses: 2, items: 100, customers: 30}, retries: 1, tally: &tally{}, tasks: make([]task, 1), session: serving}
		s.Request(nil, 0)
		s.tasks[0].kind = kind(k) % kinds
		s.begin(nil)
		for len(data) > 0 {
			_, used, err := s.Answer(data)
			if used < 0 || used > len(data) {
				t.Fatalf("%d of %d bytes are used", used, len(data))
			}
			if err != nil || used == 0 {
				return
			}
			data = data[used:]
			s.Next(nil)
		}
	})
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"rate": "10/s", "waits": "100%"}, "rate and waits"},
		{parameter.Settings{"rate": "10/s", "terminals": "80"}, "rate and terminals"},
		{parameter.Settings{"shape": "ramp to 5 over 60s"}, "give the rate"},
		{parameter.Settings{"terminals": "9"}, "evenly"},
		{parameter.Settings{"waits": "1001%"}, "waits"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
	l, err := Kind().New(parameter.Settings{"terminals": "80", "waits": "100%"})
	if err != nil {
		t.Fatal(err)
	}
	// 2,099 s for 100 transactions of a user (clause 5.2.5.7).
	if d := l.Demand(); d.Concurrency != 80 || d.Think.Seconds() < 20.98 || d.Think.Seconds() > 21 {
		t.Errorf("%+v", d)
	}
}
