package oltp

import (
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload/engine"
)

// packet is what a server of MariaDB says.
func packet(number byte, body string) string {
	return string([]byte{byte(len(body)), 0, 0, number}) + body
}

const greeting = "\n10.11.19-MariaDB\x00\x07\x00\x00\x00abcdefgh\x00\xfe\xf7\x2d\x02\x00\xff\x81\x15\x00\x00\x00\x00\x00\x00\x1d\x00\x00\x00ijklmnopqrst\x00mysql_native_password\x00"

var (
	still    = packet(1, "\x00\x00\x00\x03\x00\x00\x00") // within a transaction
	over     = packet(1, "\x00\x00\x00\x00\x00\x00\x00")
	deadlock = packet(1, "\xff\xbd\x04#40001Deadlock found")
)

// maker is a dialogue with MariaDB whose session has begun.
func maker(t testing.TB, settings parameter.Settings) sitting {
	t.Helper()
	k := newSitting(t, engine.MariaDB, settings)
	data := packet(0, greeting) + packet(2, over[4:]) + over
	for n := range k.book.plan { // begin and commit are not prepared
		data += packet(1, "\x00"+string([]byte{byte(n + 1)})+"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	}
	for len(data) > 0 {
		_, used, err := k.Answer([]byte(data))
		if err != nil || used == 0 {
			t.Fatal(used, err)
		}
		data = data[used:]
	}
	if k.Next(nil); !k.session.Serving() {
		t.Fatal("it does not serve")
	}
	return k
}

func (t sitting) expect(test *testing.T, word, not string) {
	test.Helper()
	if b := string(t.Next(nil)); !strings.Contains(b, word) || strings.Contains(b, not) {
		test.Fatalf("it says %q, not %s", b, word)
	}
}

// MariaDB goes on after a statement that failed, so that a commit waits until all others
// are known to be done.
func TestCommitWaits(t *testing.T) {
	k := maker(t, parameter.Settings{"test": "write_only", "pipeline": "true", "retries": "1"})
	b, _ := k.Request(nil, 0)
	if s := string(b); !strings.Contains(s, "BEGIN") || strings.Contains(s, "COMMIT") || strings.Count(s, "\x01\x00\x00\x00") < 4 {
		t.Fatalf("it says %q", b)
	}
	k.answer(t, strings.Repeat(still, 5), load.NoSlot)
	k.expect(t, "COMMIT", "BEGIN")
	if a := k.answer(t, over, 0); a.Failed || k.tally.done != 1 {
		t.Errorf("%+v, %+v", a, k.tally)
	}
	k.Request(nil, 0)
	k.answer(t, still+still+deadlock+still+still, load.NoSlot)
	k.expect(t, "ROLLBACK", "COMMIT")
	k.answer(t, over, load.NoSlot)
	k.expect(t, "BEGIN", "COMMIT")
	k.answer(t, still+deadlock+still+still+still, load.NoSlot)
	k.expect(t, "ROLLBACK", "COMMIT")
	if a := k.answer(t, over, 0); !a.Failed || k.tally.Retries != 1 || k.tally.done != 1 {
		t.Errorf("after the last attempt: %+v, %+v", a, k.tally)
	}
}

func TestMariaDBAllocatesNothing(t *testing.T) {
	k, b := maker(t, parameter.Settings{"test": "write_only", "pipeline": "true"}), make([]byte, 0, 1<<16)
	all, end := []byte(strings.Repeat(still, 5)), []byte(over)
	if n := testing.AllocsPerRun(100, func() {
		k.Request(b, 0)
		_, _, _ = k.Answer(all)
		k.Next(b)
		_, _, _ = k.Answer(end)
	}); n != 0 || k.tally.done < 100 {
		t.Errorf("%g allocations, %+v", n, k.tally)
	}
}

// Whatever a server sends, nothing panics and nothing is used that is not there.
func FuzzMariaDBAnswer(f *testing.F) {
	f.Add([]byte(strings.Repeat(still, 5)+over), true)
	f.Add([]byte(still+deadlock+still+still+still+over), false)
	f.Fuzz(func(t *testing.T, data []byte, pipeline bool) {
		k := maker(t, parameter.Settings{"test": "write_only", "pipeline": map[bool]string{true: "true", false: "false"}[pipeline]})
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
