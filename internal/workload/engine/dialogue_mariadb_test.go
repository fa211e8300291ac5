package engine_test

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

const (
	hello  = "\n10.11.19-MariaDB\x00\x07\x00\x00\x00abcdefgh\x00\xfe\xf7\x2d\x02\x00\xff\x81\x15\x00\x00\x00\x00\x00\x00\x1d\x00\x00\x00ijklmnopqrst\x00mysql_native_password\x00"
	fine   = "\x00\x00\x00\x02\x00\x00\x00"
	open   = "\x00\x00\x00\x03\x00\x00\x00"
	victim = "\xff\xbd\x04#40001Deadlock found"
	absent = "\xff\x7a\x04#42S02no such table"
)

// sitMaria is a dialogue with MariaDB, with a transaction under way.
func sitMaria(t *testing.T) sitting {
	t.Helper()
	s := seat(t, engine.MariaDB, dialogue.Joined)
	if b, _ := s.Request(nil, 0); len(b) > 0 {
		t.Fatalf("it says %q before the server", b)
	}
	s.answer(enginetest.Packet(0, hello), load.NoSlot)
	s.Next(nil)
	s.answer(enginetest.Packet(2, fine), load.NoSlot)
	s.says(engine.NoCommit, "ISOLATION LEVEL read committed")
	s.answer(enginetest.Packet(1, "\x00\x00\x00\x0a\x00\x00\x00"), load.NoSlot) // and more results
	s.answer(enginetest.Packet(2, fine), load.NoSlot)
	s.says("SELECT 1")
	for n := range list {
		s.answer(enginetest.Packet(1, "\x00"+string(rune('7'+n))+"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), load.NoSlot)
	}
	s.says("BEGIN", "\x17\x37")
	return s
}

// round answers BEGIN, if it was said, and a statement without rows.
func (s sitting) round(begun bool, state string) {
	s.t.Helper()
	if begun {
		s.answer(enginetest.Packet(1, open), load.NoSlot)
	}
	s.answer(enginetest.Packet(1, state), load.NoSlot)
}

// A commit is a round of its own, which nothing that failed before it reaches.
func TestMariaDBCommitsAlone(t *testing.T) {
	s := sitMaria(t)
	s.round(true, open)
	if b := string(s.Next(nil)); !strings.Contains(b, "\x17\x38") || strings.Contains(b, "COMMIT") {
		t.Errorf("it says %q", b)
	}
	s.round(false, open)
	s.says("COMMIT")
	if a := s.answer(enginetest.Packet(1, fine), 0); a.Failed || s.done != 1 {
		t.Errorf("%+v, %+v", a, s.play)
	}
	// Nor does it wait for a round that has nothing else.
	s.quiet = true
	s.Request(nil, 0)
	s.round(true, open)
	s.says("COMMIT")
	if a := s.answer(enginetest.Packet(1, fine), 0); a.Failed || s.done != 2 {
		t.Errorf("%+v, %+v", a, s.play)
	}
	// One that is rolled back as it was meant needs no such care.
	s.final = dialogue.Rollback
	s.Request(nil, 0)
	s.round(true, open)
	s.says("ROLLBACK")
	if a := s.answer(enginetest.Packet(1, fine), 0); a.Failed || s.done != 3 {
		t.Errorf("%+v, %+v", a, s.play)
	}
}

// After a deadlock in a round that goes on, all of it is rolled back and tried again.
func TestMariaDBVictim(t *testing.T) {
	s := sitMaria(t)
	s.round(true, open)
	s.says("\x17\x38")
	s.answer(enginetest.Packet(1, victim), load.NoSlot)
	s.says("ROLLBACK")
	s.answer(enginetest.Packet(1, fine), load.NoSlot)
	s.says("BEGIN", "\x17\x37")
	s.round(true, open)
	s.says("\x17\x38")
	s.round(false, open)
	s.says("COMMIT")
	if a := s.answer(enginetest.Packet(1, fine), 0); a.Failed || s.Count.Retries != 1 || s.Count.Failures != 0 || s.drawn != 1 {
		t.Errorf("%+v, %+v, %+v", a, s.Count, s.play)
	}
	// BEGIN fails, and what follows it is done all the same: the first reason counts.
	s.Request(nil, 0)
	s.answer(enginetest.Packet(1, absent), load.NoSlot)
	s.answer(enginetest.Packet(1, victim), load.NoSlot)
	s.says("ROLLBACK")
	if a := s.answer(enginetest.Packet(1, fine), 0); !a.Failed || !strings.Contains(s.Count.Why, "no such table") || s.lost != 1 {
		t.Errorf("%+v, %+v, %+v", a, s.Count, s.play)
	}
}

// A transaction allocates nothing on either engine.
func TestTransactionsAllocateNothing(t *testing.T) {
	for protocol, c := range map[string]struct {
		s               sitting
		first, rest     []byte
		endsInTwoRounds bool
	}{
		engine.PostgreSQL: {sit(t), slices.Concat(did, enginetest.Row("1"), did, within), slices.Concat(enginetest.Row("2"), did, did, idle), false},
		engine.MariaDB:    {sitMaria(t), slices.Concat(enginetest.Packet(1, open), enginetest.Packet(1, open)), enginetest.Packet(1, open), true},
	} {
		b := make([]byte, 0, 1<<10)
		last := enginetest.Packet(1, fine)
		turn := func() {
			_, _, _ = c.s.Answer(c.first)
			c.s.Next(b)
			_, _, _ = c.s.Answer(c.rest)
			if c.endsInTwoRounds {
				c.s.Next(b)
				_, _, _ = c.s.Answer(last)
			}
			c.s.Request(b, 0)
		}
		if n := testing.AllocsPerRun(100, turn); n != 0 || c.s.done != 101 || c.s.lost != 0 {
			t.Errorf("%s: %g allocations, %+v", protocol, n, c.s.play)
		}
	}
}

// Whatever a server sends, nothing panics and nothing is used that is not there.
func FuzzAnswer(f *testing.F) {
	f.Add(slices.Concat(did, enginetest.Row("1"), did, within, enginetest.Row("2"), did, did, idle), false)
	f.Add(slices.Concat(did, deadlock, broken, did, idle), false)
	f.Add(slices.Concat(enginetest.Packet(1, open), enginetest.Packet(1, open), enginetest.Packet(1, open), enginetest.Packet(1, fine)), true)
	f.Add(slices.Concat(enginetest.Packet(1, open), enginetest.Packet(1, victim), enginetest.Packet(1, fine)), true)
	f.Add(slices.Concat(enginetest.Packet(1, open), enginetest.Packet(1, "\x01"), enginetest.Packet(2, "\x03def\x00\x00\x00\x00\x00\x0c\x3f\x00\x14\x00\x00\x00\x08\x00\x00\x00\x00\x00"),
		enginetest.Packet(3, "\x00\x00\x2a\x00\x00\x00\x00\x00\x00\x00"), enginetest.Packet(4, "\xfe\x00\x00\x03\x00\x00\x00")), true)
	f.Fuzz(func(t *testing.T, data []byte, maria bool) {
		var s sitting
		if maria {
			s = sitMaria(t)
		} else {
			s = sit(t)
		}
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
