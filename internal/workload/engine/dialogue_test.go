package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

const (
	first = iota
	second
)

var list = []engine.Statement{{Name: "first", SQL: "SELECT 1"}, {Name: "second", SQL: "SELECT 2"}}

// play is a script of two rounds.
type play struct {
	session          *engine.Session
	rows, done, lost int
	drawn            int
	final            dialogue.Step
	quiet            bool // in the second round
	refuse           error
	verdict          dialogue.Verdict
}

func (p *play) Draw() int { return 0 }

func (p *play) Ask(b []byte, t dialogue.Turn) ([]byte, dialogue.Step) {
	if t.First() {
		p.drawn++
	}
	if t.Round == 1 {
		return p.session.Append(b, first), dialogue.Another
	}
	if p.quiet {
		return b, p.final
	}
	return p.session.Append(b, second), p.final
}

func (p *play) Row(t dialogue.Turn, r *engine.Row) error {
	if t.Round == 1 && t.Results != 1 || t.Round == 2 && t.Results != 0 {
		return errors.New("a row that nothing asked for")
	}
	p.rows++
	r.Int()
	return r.End()
}

func (p *play) Done(_ dialogue.Turn, failed bool) (dialogue.Verdict, error) {
	if p.done++; failed {
		p.lost++
	}
	return p.verdict, p.refuse
}

var (
	did      = enginetest.Message(postgres.CommandComplete, "X\x00")
	idle     = enginetest.Message(postgres.Ready, "I")
	within   = enginetest.Message(postgres.Ready, "T")
	broken   = enginetest.Message(postgres.Ready, "E")
	deadlock = enginetest.Message(postgres.Failure, "SERROR\x00C40P01\x00Mdeadlock detected\x00\x00")
	noTable  = enginetest.Message(postgres.Failure, "SERROR\x00C42P01\x00Mno such table\x00\x00")
	farewell = enginetest.Message(postgres.Failure, "SFATAL\x00VFATAL\x00C57P01\x00Mterminating connection\x00\x00")
)

type sitting struct {
	*dialogue.Dialogue
	*play
	t *testing.T
}

func seat(t *testing.T, protocol string, begin dialogue.Begin) sitting {
	t.Helper()
	book := dialogue.NewBook(protocol, list)
	book.Begin = begin
	p := &play{session: book.Session(wire.Account{User: "u"}, "read committed"), final: dialogue.Commit}
	return sitting{dialogue.New(dialogue.Setup{Session: p.session, Book: book, Window: 2, Retries: 1, Count: &engine.Count{}}, p), p, t}
}

// sit is a dialogue whose session has begun, with a transaction under way.
func sit(t *testing.T) sitting {
	t.Helper()
	return begun(t, dialogue.Joined)
}

func begun(t *testing.T, begin dialogue.Begin) sitting {
	t.Helper()
	s := seat(t, engine.PostgreSQL, begin)
	if b, _ := s.Request(nil, 0); len(b) == 0 {
		t.Fatal("it says nothing")
	}
	s.answer(slices.Concat(enginetest.Message(postgres.Authentication, "\x00\x00\x00\x00"), idle), load.NoSlot)
	s.says("ISOLATION LEVEL read committed")
	for range 5 {
		s.answer(enginetest.Message(postgres.ParseComplete, ""), load.NoSlot)
	}
	s.answer(idle, load.NoSlot)
	s.says(map[dialogue.Begin]string{dialogue.Joined: "first", dialogue.Apart: "begin", dialogue.Never: "first"}[begin])
	return s
}

func (s sitting) answer(data []byte, slot int) load.Answer {
	s.t.Helper()
	a, used, err := s.Answer(data)
	if err != nil || used != len(data) || a.Slot != slot {
		s.t.Fatalf("%q: %+v, %d of %d, %v", data, a, used, len(data), err)
	}
	return a
}

// says looks that all of some words are in what is said next, in their order; without any,
// nothing is to be said.
func (s sitting) says(words ...string) {
	s.t.Helper()
	all := string(s.Next(nil))
	rest, found := all, true
	for _, word := range words {
		if _, rest, found = strings.Cut(rest, word); !found {
			s.t.Fatalf("it says %q, without %s", all, word)
		}
	}
	if len(words) == 0 && all != "" {
		s.t.Fatalf("it says %q", all)
	}
}

func TestTransactionsTakeTurns(t *testing.T) {
	s := sit(t)
	if b, _ := s.Request(nil, 1); len(b) > 0 {
		t.Errorf("it says %q out of turn", b)
	}
	s.answer(slices.Concat(did, enginetest.Row("1"), did, within), load.NoSlot)
	s.says("second", "commit", "S\x00\x00\x00\x04")
	if a := s.answer(slices.Concat(enginetest.Row("2"), did, did, idle), 0); a.Failed {
		t.Errorf("%+v", a)
	}
	s.says("begin", "first")
	if s.rows != 2 || s.done != 1 || s.drawn != 2 || s.lost != 0 {
		t.Errorf("%+v", s.play)
	}
}

func TestVictimIsTriedAgain(t *testing.T) {
	s := sit(t)
	for round := range 2 {
		s.answer(slices.Concat(did, deadlock, broken), load.NoSlot)
		s.says("rollback")
		if round == 0 {
			s.answer(slices.Concat(did, idle), load.NoSlot)
			s.says("first")
		}
	}
	if a := s.answer(slices.Concat(did, idle), 0); !a.Failed || s.Count.Retries != 1 || s.drawn != 1 || s.lost != 1 {
		t.Errorf("after the last attempt: %+v, %+v, %+v", a, s.Count, s.play)
	}
}

func TestRefusalsFail(t *testing.T) {
	s := sit(t)
	s.answer(slices.Concat(noTable, broken), load.NoSlot)
	s.says("rollback")
	if a := s.answer(slices.Concat(did, idle), 0); !a.Failed || !strings.Contains(s.Count.Why, "no such table") {
		t.Errorf("%+v, %+v", a, s.Count)
	}
	s.says()
	s = sit(t)
	s.refuse = errors.New("that is not what was asked for")
	s.answer(slices.Concat(did, enginetest.Row("1"), did, within), load.NoSlot)
	s.says("second")
	if a := s.answer(slices.Concat(enginetest.Row("2"), did, did, idle), 0); !a.Failed || s.Count.Why != s.refuse.Error() {
		t.Errorf("%+v, %+v", a, s.Count)
	}
}

func TestTransactionBeginsInARoundOfItsOwn(t *testing.T) {
	s := begun(t, dialogue.Apart)
	s.answer(slices.Concat(did, within), load.NoSlot)
	s.says("first")
	s.answer(slices.Concat(did, within), load.NoSlot)
	s.quiet = true
	s.says("commit")
	if a := s.answer(slices.Concat(did, idle), 0); a.Failed || s.done != 1 || s.drawn != 1 {
		t.Errorf("%+v, %+v", a, s.play)
	}
	s = begun(t, dialogue.Apart)
	if _, _, err := s.Answer(enginetest.Row("1")); err == nil || !strings.Contains(err.Error(), "unexpected response") {
		t.Errorf("a row of BEGIN: %v", err)
	}
}

func TestStatementsThatCommitByThemselves(t *testing.T) {
	s := begun(t, dialogue.Never)
	s.verdict = dialogue.GoOn
	if a := s.answer(slices.Concat(did, idle), 0); a.Failed || !a.Again {
		t.Errorf("%+v", a)
	}
	s.says()
	if b, _ := s.Request(nil, 1); !strings.Contains(string(b), "first") || strings.Contains(string(b), "begin") {
		t.Errorf("it says %q", b)
	}
	s.verdict = dialogue.Repeat
	s.answer(slices.Concat(did, idle), load.NoSlot)
	s.says("second")
	s.verdict = dialogue.Pause
	if a := s.answer(slices.Concat(did, idle), 1); a.Failed || a.Again || s.done != 3 || s.drawn != 2 {
		t.Errorf("%+v, %+v", a, s.play)
	}
	s.verdict = dialogue.GoOn
	s.Request(nil, 0)
	if a := s.answer(slices.Concat(noTable, idle), 0); !a.Failed || a.Again {
		t.Errorf("%+v", a)
	}
}

func TestVictimsOfOtherKinds(t *testing.T) {
	twice := enginetest.Message(postgres.Failure, "SERROR\x00C23505\x00Mduplicate key\x00\x00")
	for _, again := range []bool{false, true} {
		s := begun(t, dialogue.Never)
		s.Duplicates, s.Failed = again, func(fault error) string { return "ours: " + fault.Error() }
		slot := map[bool]int{false: 0, true: load.NoSlot}[again]
		s.answer(slices.Concat(twice, idle), slot)
		if told := strings.HasPrefix(s.Count.Why, "ours: "); told == again || s.Count.Retries != map[bool]int64{true: 1}[again] {
			t.Errorf("%+v", s.Count)
		}
	}
}

func TestServerThatMakesNoSense(t *testing.T) {
	for what, data := range map[string][]byte{
		"another protocol": []byte("+OK\r\n"),
		"no number":        slices.Concat(did, enginetest.Row("many")),
		"no such state":    enginetest.Message(postgres.Ready, "X"),
		"a farewell":       farewell,
	} {
		if _, _, err := sit(t).Answer(data); err == nil || errors.Is(err, load.ErrRefused) != (what == "a farewell") {
			t.Errorf("%s: %v", what, err)
		}
	}
	s := sit(t)
	s.answer(slices.Concat(did, within), load.NoSlot)
	s.Next(nil)
	s.answer(slices.Concat(did, idle), 0)
	for _, data := range [][]byte{idle, enginetest.Row("1")} {
		if _, _, err := s.Answer(data); err == nil {
			t.Errorf("%q is believed, unexpectedly", data)
		}
	}
}
