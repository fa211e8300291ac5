package dvdstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
)

// said is a message of a server.
func said(kind byte, body string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return append(b, body...)
}

func rowOf(values ...string) string {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(values)))
	for _, v := range values {
		b = postgres.AppendText(b, v)
	}
	return string(said(postgres.DataRow, string(b)))
}

var (
	done     = string(said(postgres.CommandComplete, "X\x00"))
	idle     = string(said(postgres.Ready, "I"))
	deadlock = string(said(postgres.Failure, "SERROR\x00C40P01\x00Mdeadlock detected\x00\x00"))
	noTable  = string(said(postgres.Failure, "SERROR\x00C42P01\x00Mno such table\x00\x00"))
	farewell = string(said(postgres.Failure, "SFATAL\x00VFATAL\x00C57P01\x00Mterminating\x00\x00"))
)

func built(t testing.TB, settings parameter.Settings) *store {
	t.Helper()
	l, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*store)
}

// sitting is a user whose session has begun.
func sitting(t testing.TB, settings parameter.Settings) *talk {
	t.Helper()
	d := built(t, settings)
	k := &talk{shopper: shopper{store: d, source: newSource(1, 1), z: d.size()}, session: postgres.NewSession(postgres.Account{}, "", nil), tally: &tally{}}
	k.session.AppendStart(nil)
	for range 2 {
		if err := k.session.Hear(postgres.Message{Kind: postgres.Ready, Body: []byte("I")}); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

func (t *talk) answer(test testing.TB, data string, slot int) load.Answer {
	test.Helper()
	a, used, err := t.Answer([]byte(data))
	if err != nil || a.Slot != slot || used != len(data) {
		test.Fatalf("%q: %+v, %d of %d, %v", data, a, used, len(data), err)
	}
	return a
}

// right is what a server answers to the call that is under way.
func (t *talk) reply() string {
	switch t.call {
	case callLogin:
		return rowOf(fmt.Sprint(t.number), "A", "B", "C") + done + idle
	case callPrices:
		all := ""
		for _, p := range t.products[:t.lines] {
			all += rowOf(fmt.Sprint(p), "10.00")
		}
		return all + done + idle
	case callBrowseCategory:
		return done + idle
	}
	return rowOf("7") + done + idle
}

// until asks and answers up to a call.
func (t *talk) until(test testing.TB, want call) {
	test.Helper()
	for range 10_000 {
		if t.Request(nil, 0); t.call == want {
			return
		}
		if a := t.answer(test, t.reply(), 0); a.Failed || a.Again != t.begun {
			test.Fatalf("%s: %+v, %s", functionName(t.call), a, t.tally.why)
		}
	}
	test.Fatalf("no %s comes", functionName(want))
}

func TestOrderToItsEnd(t *testing.T) {
	k := sitting(t, nil)
	now := time.Unix(0, 0)
	k.clock = func() time.Time { now = now.Add(time.Second); return now }
	k.until(t, callPurchase)
	pieces, lines := int64(k.bought()), int64(k.lines)
	if k.tally.pending != lines || k.tally.pendingPieces != pieces || k.tally.pendingNet != 1000*pieces {
		t.Errorf("under way: %+v", k.tally)
	}
	a := k.answer(t, k.reply(), 0)
	s := k.tally
	if a.Failed || a.Again || s.placed != 1 || s.lines != lines || s.pieces != pieces || s.net != 1000*pieces || s.pending+s.pendingPieces+s.pendingNet != 0 {
		t.Errorf("%+v, %+v", a, s)
	}
	if s.orders != 1 || s.total != time.Second {
		t.Errorf("%d orders in %s", s.orders, s.total)
	}
	if b, class := k.Request(nil, 0); class > int(newCustomer) || len(b) == 0 {
		t.Errorf("after the order comes class %d: %q", class, b)
	}
}

func TestVictimIsTriedAgain(t *testing.T) {
	for mode, words := range map[string]int{sound: 0, faithful: 1} {
		k := sitting(t, parameter.Settings{"mode": mode, "retries": "1"})
		k.until(t, callPurchase)
		pending := k.tally.pending
		k.answer(t, deadlock+idle, load.NoSlot)
		b := string(k.Next(nil))
		if strings.Count(b, "pause") != words || strings.Count(b, "purchase") != 1 {
			t.Errorf("%s: it says %q", mode, b)
		}
		if mode == faithful { // the pause brings a row of its own
			k.answer(t, rowOf("")+done, load.NoSlot)
		}
		if a := k.answer(t, deadlock+idle, 0); !a.Failed || a.Again || k.tally.retries != 1 || k.tally.pending != 0 || pending == 0 {
			t.Errorf("%s: %+v, %+v", mode, a, k.tally)
		}
		if n := k.tally.unknown(callPurchase); n != 0 {
			t.Errorf("%s: of %d purchases the answer is not known", mode, n)
		}
	}
}

func TestNameThatIsTaken(t *testing.T) {
	k := sitting(t, parameter.Settings{"new_customers": "100%"})
	k.until(t, callNewCustomer)
	first := string(k.words)
	k.answer(t, rowOf("0")+done+idle, load.NoSlot)
	if b := string(k.Next(nil)); strings.Contains(b, first) || !strings.Contains(b, "newuser") {
		t.Errorf("it says %q again", b)
	}
	if a := k.answer(t, rowOf("9")+done+idle, 0); a.Failed || k.customer != 9 || k.tally.taken != 1 || k.tally.customers != 1 {
		t.Errorf("%+v, %+v", a, k.tally)
	}
}

func TestWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		mode   string
		call   call
		answer string
		want   string // empty: it is right
	}{
		{sound, callLogin, rowOf("0", "None", "None", "None") + done + idle, "is not known"},
		{sound, callPurchase, rowOf("0") + done + idle, "not placed"},
		{faithful, callPurchase, rowOf("0") + done + idle, ""},
		{sound, callPrices, done + idle, "has no price"},
		{sound, callBrowseTitle, strings.Repeat(rowOf("1"), 10) + done + idle, "rows came"},
		{sound, callNewReview, rowOf("0") + done + idle, "no number"},
		{sound, callBrowseCategory, noTable + idle, "no such table"},
	} {
		k := sitting(t, parameter.Settings{"mode": c.mode, "new_reviews": "100%"})
		k.until(t, c.call)
		if a := k.answer(t, c.answer, 0); a.Failed != (c.want != "") || !strings.Contains(k.tally.why, c.want) {
			t.Errorf("%s, %s: %+v, %q", c.mode, functionName(c.call), a, k.tally.why)
		}
		if c.mode == faithful && (k.tally.short != 1 || k.tally.pending == 0 || k.tally.pendingNet != 0) {
			t.Errorf("a purchase that found too little: %+v", k.tally)
		}
	}
}

func TestServerThatMakesNoSense(t *testing.T) {
	for what, data := range map[string]string{
		"another protocol": "+OK\r\n",
		"no number":        rowOf("many", "", "", ""),
		"a value too few":  rowOf("1"),
		"no such state":    string(said(postgres.Ready, "X")),
		"a farewell":       farewell,
	} {
		k := sitting(t, parameter.Settings{"new_customers": "0%"})
		k.until(t, callLogin)
		if _, _, err := k.Answer([]byte(data)); err == nil || errors.Is(err, load.ErrRefused) != (what == "a farewell") {
			t.Errorf("%s: %v", what, err)
		}
	}
	k := sitting(t, nil)
	if _, _, err := k.Answer([]byte(idle)); err == nil {
		t.Error("an answer that nobody asked for is believed")
	}
}

// A call allocates nothing.
func TestCallsAllocateNothing(t *testing.T) {
	k := sitting(t, parameter.Settings{"new_members": "20%", "new_reviews": "50%", "ratings": "50%"})
	b := make([]byte, 0, 1<<16)
	number, browsed, in := []byte(rowOf("7")+done+idle), []byte(done+idle), make([]byte, 0, 1<<12)
	for range 500 { // buffers grow
		k.until(t, callPurchase)
		k.answer(t, string(number), 0)
	}
	if n := testing.AllocsPerRun(2000, func() {
		k.Request(b, 0)
		data := number
		switch k.call {
		case callLogin:
			in = binary.BigEndian.AppendUint16(append(in[:0], postgres.DataRow, 0, 0, 0, 0), 4)
			at := len(in)
			in = append(in, 0, 0, 0, 0)
			in = appendNumber(in, at, k.shopper.number)
			for range 3 {
				in = append(in, 0, 0, 0, 1, 'X')
			}
			binary.BigEndian.PutUint32(in[1:], uint32(len(in)-1))
			data = append(append(in, done...), idle...)
		case callPrices:
			for n := range k.prices[:k.lines] {
				k.prices[n] = 1
			}
			data = browsed
		case callBrowseCategory, callBrowseActor, callBrowseTitle:
			data = browsed
		}
		if a, _, err := k.Answer(data); err != nil || a.Slot != 0 || a.Failed {
			t.Fatalf("%s: %+v, %v", functionName(k.call), a, err)
		}
		k.Next(b)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// appendNumber appends a value whose length stands at a place before it.
func appendNumber(b []byte, at, n int) []byte {
	b = number(b, n)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// Whatever a server sends, nothing panics and nothing is used that is not there.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(rowOf("1", "A", "B", "C")+done+idle), uint8(callLogin))
	f.Add([]byte(rowOf("1", "9.99")+rowOf("2", "19.99")+done+idle), uint8(callPrices))
	f.Add([]byte(deadlock+idle+rowOf("5")+done+idle), uint8(callPurchase))
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		k := sitting(t, parameter.Settings{"retries": "1"})
		k.Request(nil, 0)
		k.call = call(which) % callsInAll
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

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"rate": "10/s", "think": "1s"}, "rate and think"},
		{parameter.Settings{"shape": "ramp to 5 over 60s"}, "give the rate"},
		{parameter.Settings{"size": "1kB"}, "20kB"},
		{parameter.Settings{"mode": "fair"}, "faithful"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
	// 1 + 3 + 3 + 3 + 1 + 1 calls, and .16 of those that not every order has.
	if d := built(t, parameter.Settings{"think": "12.16s"}).Demand(); d.Think.Round(time.Millisecond) != time.Second {
		t.Errorf("%+v", d)
	}
}
