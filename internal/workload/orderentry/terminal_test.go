package orderentry

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

var (
	done   = enginetest.Message(postgres.CommandComplete, "X\x00")
	idle   = enginetest.Message(postgres.Ready, "I")
	within = enginetest.Message(postgres.Ready, "T")
)

// sitting is the dialogue of a terminal that draws always the same kind of transaction.
type sitting struct {
	*dialogue.Dialogue
	*terminal
	kind kind
}

func (s *sitting) Draw() int { return int(s.kind) }

// sit is one whose session with PostgreSQL has begun, with a transaction under way.
func sit(t testing.TB, k kind) *sitting {
	t.Helper()
	book := dialogue.NewBook(engine.PostgreSQL, statements)
	s := &sitting{kind: k, terminal: &terminal{
		source: newSource(1, 1), Session: book.Session(wire.Account{User: "u"}, "read committed"), z: size{warehouses: 1, items: 100, customers: 30}, tally: &tally{},
	}}
	s.Dialogue = dialogue.New(dialogue.Setup{Session: s.terminal.Session, Book: book, Window: 1, Retries: 1, Count: &s.tally.Count}, s)
	s.Request(nil, 0)
	s.answer(t, slices.Concat(enginetest.Message(postgres.Authentication, "\x00\x00\x00\x00"), idle), load.NoSlot)
	if b := s.Next(nil); strings.Count(string(b), "P\x00") < len(statements) {
		t.Fatalf("it prepares %q", b)
	}
	s.answer(t, slices.Concat(slices.Repeat(enginetest.Message(postgres.ParseComplete, ""), len(statements)+3), idle), load.NoSlot)
	if b := s.Next(nil); !strings.Contains(string(b), "begin") {
		t.Fatalf("it says %q", b)
	}
	return s
}

func (s *sitting) answer(t testing.TB, data []byte, slot int) load.Answer {
	t.Helper()
	a, used, err := s.Answer(data)
	if err != nil || used != len(data) || a.Slot != slot {
		t.Fatalf("%q: %+v, %d of %d, %v", data, a, used, len(data), err)
	}
	return a
}

// item and stock are what the server says of a line of an order.
var (
	item  = slices.Concat(enginetest.Row("1.25", "clock", "data"), done)
	stock = slices.Concat(enginetest.Row("abcdefghijklmnopqrstuvwx", "40", "data"), done)
	lines = slices.Repeat(slices.Concat(item, stock), 15)
)

// ordered answers the first round of a new order, but for some bytes of its lines.
func (s *sitting) ordered(lines []byte) []byte {
	return slices.Concat(done, enginetest.Row("0.1"), done, enginetest.Row("31", "0.1"), done, enginetest.Row("0.1", "BAR", "GC"), done, lines[:s.tx.count*(len(item)+len(stock))], within)
}

// An order that names an item that does not exist is rolled back, and only such a one.
func TestOrdersAndItems(t *testing.T) {
	for _, c := range []struct{ invalid, found, failed bool }{{false, true, false}, {true, false, false}, {false, false, true}, {true, true, true}} {
		s := sit(t, newOrder)
		s.tx.invalid = c.invalid
		answer := s.ordered(lines)
		if !c.found {
			answer = slices.Concat(answer[:len(answer)-len(item)-len(stock)-len(within)], done, done, within)
		}
		s.answer(t, answer, load.NoSlot)
		said := string(s.Next(nil))
		if strings.Contains(said, "rollback") == c.found || strings.Contains(said, "no_line") != c.found {
			t.Errorf("%+v: it says %q", c, said)
		}
		if a := s.answer(t, slices.Concat(done, idle), 0); a.Failed != c.failed || (s.tally.Failures == 1) != c.failed {
			t.Errorf("%+v: %+v, %+v", c, a, s.tally)
		}
	}
}

func TestRowsThatMakeNoSense(t *testing.T) {
	for what, c := range map[string]struct {
		kind kind
		data []byte
	}{
		"a value too many":      {stockLevel, slices.Concat(done, enginetest.Row("31", "32"))},
		"no number":             {stockLevel, slices.Concat(done, enginetest.Row("many"))},
		"a row of BEGIN":        {newOrder, enginetest.Row("1")},
		"a row of another":      {payment, slices.Concat(done, done, done, done, enginetest.Row("1"))},
		"an order too many":     {delivery, slices.Concat(slices.Repeat(done, 2+districts), enginetest.Row("1"))},
		"a district without it": {newOrder, slices.Concat(done, done, enginetest.Row("1"))},
	} {
		if _, _, err := sit(t, c.kind).Answer(c.data); err == nil {
			t.Errorf("%s is believed", what)
		}
	}
}

// A transaction allocates nothing.
func TestTransactionsAllocateNothing(t *testing.T) {
	for k, rounds := range map[kind]func(s *sitting) [2][]byte{
		stockLevel: func(*sitting) [2][]byte {
			return [2][]byte{slices.Concat(done, enginetest.Row("31"), done, within), slices.Concat(enginetest.Row("3"), done, done, idle)}
		},
		newOrder: func(s *sitting) [2][]byte { return [2][]byte{s.ordered(lines), slices.Concat(done, idle)} },
	} {
		s := sit(t, k)
		b := make([]byte, 0, 1<<16)
		s.z.items = 1 << 20
		var answers [16][2][]byte
		asked := s.tx.count
		for n := range answers {
			s.tx.count = n
			answers[n] = rounds(s)
		}
		s.tx.count = asked
		if n := testing.AllocsPerRun(200, func() {
			now := &answers[s.tx.count]
			for i := range now {
				if _, _, err := s.Answer(now[i]); err != nil {
					t.Error(err)
				}
				s.Next(b)
			}
			s.Request(b, 0)
			s.tx.invalid = false
		}); n != 0 {
			t.Errorf("%s: %g allocations", names[k], n)
		}
	}
}

// Whatever a server sends, nothing panics and nothing is used that is not there.
func FuzzAnswer(f *testing.F) {
	f.Add(slices.Concat(done, enginetest.Row("31"), done, within, enginetest.Row("3"), done, done, idle), uint8(stockLevel))
	f.Add(slices.Concat(done, enginetest.Row("0.1"), done, enginetest.Row("1", "0.1"), done, within), uint8(newOrder))
	f.Add(slices.Concat(done, enginetest.Row(""), done, enginetest.Row("7"), done, within, enginetest.Row("3"), done, enginetest.Row("1.5"), done, idle), uint8(delivery))
	f.Fuzz(func(t *testing.T, data []byte, k uint8) {
		s := sit(t, kind(k)%kinds)
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
		{parameter.Settings{"shape": "ramp to 5 over 60s"}, "requires rate"},
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
