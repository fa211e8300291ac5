package oltp

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine"
)

var (
	done     = string(enginetest.Message(postgres.CommandComplete, "X\x00"))
	row      = string(enginetest.Message(postgres.DataRow, "\x00\x01\x00\x00\x00\x011"))
	idle     = string(enginetest.Message(postgres.Ready, "I"))
	within   = string(enginetest.Message(postgres.Ready, "T"))
	broken   = string(enginetest.Message(postgres.Ready, "E"))
	twice    = string(enginetest.Message(postgres.Failure, "SERROR\x00C23505\x00Mduplicate key\x00\x00"))
	farewell = string(enginetest.Message(postgres.Failure, "SFATAL\x00VFATAL\x00C57P01\x00Mterminating\x00\x00"))
)

// sitting is a dialogue whose session has begun.
type sitting struct {
	*script
	load.MultiRequest
}

func newSitting(t testing.TB, protocol string, settings parameter.Settings) sitting {
	t.Helper()
	l, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	o := l.(*oltp)
	k := &script{load: o, source: newSource(1, 1), book: newBook(protocol, o.Parameters), tally: &tally{}}
	k.session = k.book.Session(wire.Account{}, "")
	return sitting{k, newDialogue(k).(load.MultiRequest)}
}

func sit(t testing.TB, settings parameter.Settings) sitting {
	t.Helper()
	k := newSitting(t, engine.PostgreSQL, settings)
	k.session.AppendStart(nil)
	statements := 3 + k.load.Tables*len(slices.Compact(slices.Sorted(slices.Values(k.book.plan))))
	for data := []byte(idle + strings.Repeat(string(enginetest.Message(postgres.ParseComplete, "")), statements) + idle); len(data) > 0; {
		_, used, err := k.session.Hear(data)
		if err != nil || used == 0 {
			t.Fatal(used, err)
		}
		data = data[used:]
	}
	return k
}

func (t sitting) answer(test *testing.T, data string, slot int) load.Answer {
	test.Helper()
	a, used, err := t.Answer([]byte(data))
	if err != nil || a.Slot != slot || slot != load.NoSlot && used != len(data) {
		test.Fatalf("%q: %+v, %d of %d, %v", data, a, used, len(data), err)
	}
	return a
}

func TestStepByStep(t *testing.T) {
	k := sit(t, parameter.Settings{"test": "write_only"})
	b, _ := k.Request(nil, 0)
	for _, want := range []string{"begin", "s5_1", "s6_1", "s7_1", "s8_1", "commit"} {
		if !strings.Contains(string(b), want) || strings.Count(string(b), "E\x00\x00\x00\x09") != 1 {
			t.Fatalf("%q is not %s alone", b, want)
		}
		if want == "commit" {
			break
		}
		k.answer(t, done+within, load.NoSlot)
		b = k.Next(nil)
	}
	if a := k.answer(t, done+idle, 0); a.Failed || k.tally.done != 1 {
		t.Errorf("%+v, %+v", a, k.tally)
	}
}

func TestAllAtOnce(t *testing.T) {
	k := sit(t, parameter.Settings{"test": "read_only", "range": "2", "pipeline": "true"})
	b, _ := k.Request(nil, 0)
	if n := strings.Count(string(b), "E\x00\x00\x00\x09"); n != 16 {
		t.Errorf("%d statements", n)
	}
	all := done + strings.Repeat(row+done, 10) + row + row + done + row + done + row + row + done + row + done + done + idle
	if a := k.answer(t, all, 0); a.Failed {
		t.Errorf("%+v, %s", a, k.tally.Why)
	}
}

func TestWhatIsWrong(t *testing.T) {
	k := sit(t, nil)
	k.Request(nil, 0)
	if a := k.answer(t, done+idle, 0); !a.Failed || !strings.Contains(k.tally.Why, "0 rows returned of 1") {
		t.Errorf("a row that is not there: %+v, %+v", a, k.tally)
	}
	k = sit(t, parameter.Settings{"test": "write_only", "retries": "1"})
	k.Request(nil, 0)
	for round := range 2 {
		k.answer(t, twice+broken, load.NoSlot)
		if b := k.Next(nil); !strings.Contains(string(b), "rollback") {
			t.Fatalf("it says %q", b)
		}
		if round == 0 {
			k.answer(t, done+idle, load.NoSlot)
			k.Next(nil)
		}
	}
	if a := k.answer(t, done+idle, 0); !a.Failed || k.tally.Retries != 1 {
		t.Errorf("after the last attempt: %+v, %+v", a, k.tally)
	}
	for _, data := range []string{"+OK\r\n", done + done, farewell} {
		k := sit(t, parameter.Settings{"test": "write_only"})
		k.Request(nil, 0)
		if _, _, err := k.Answer([]byte(data)); err == nil {
			t.Errorf("%q is believed", data)
		}
	}
	if _, _, err := sit(t, nil).Answer([]byte(done)); err == nil {
		t.Error("an answer that nobody asked for is believed")
	}
}

func TestAllocatesNothing(t *testing.T) {
	k, b := sit(t, parameter.Settings{"test": "read_write", "range": "1", "pipeline": "true"}), make([]byte, 0, 1<<16)
	all := []byte(done + strings.Repeat(row+done, 14) + strings.Repeat(done, 5) + idle)
	if n := testing.AllocsPerRun(100, func() {
		k.Request(b, 0)
		_, _, _ = k.Answer(all)
		k.Next(b)
	}); n != 0 || k.tally.done < 100 {
		t.Errorf("%g allocations, %+v", n, k.tally)
	}
}

func TestRows(t *testing.T) {
	s := newSource(1, 1)
	form := regexp.MustCompile(`^7\t\d{1,3}\t(\d{11}-){9}\d{11}\t(\d{11}-){4}\d{11}\n$`)
	if got := string(s.appendRow(nil, 7, 200)); !form.MatchString(got) || len(strings.Split(got, "\t")[2]) != lengthC {
		t.Errorf("got %q", got)
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for want, settings := range map[string]parameter.Settings{
		"rate and think": {"rate": "1/s", "think": "1s"},
		"a range of 300": {"range": "300", "rows": "200"},
	} {
		if _, err := Kind().New(settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v gives %v", settings, err)
		}
	}
}

// Whatever a server sends, nothing panics and nothing is used that is not there.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(done+within+done+within+row+done+twice+broken+done+idle), true)
	f.Add([]byte(row+done+idle+farewell), false)
	f.Fuzz(func(t *testing.T, data []byte, pipeline bool) {
		k := sit(t, parameter.Settings{"test": "read_write", "pipeline": map[bool]string{true: "true", false: "false"}[pipeline]})
		k.Request(nil, 0)
		for len(data) > 0 {
			_, used, err := k.Answer(data)
			if used < 0 || used > len(data) {
				t.Fatalf("%d of %d bytes are used", used, len(data))
			}
			if err != nil || used == 0 {
				return
			}
			data = data[used:]
			k.Next(nil)
		}
	})
}
