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
	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine"
)

// server is what a server of an engine says.
type server struct {
	protocol                              string
	row                                   func(values ...string) string
	rows                                  func(columns int, rows ...string) string // the answer to a call
	idle                                  string                                   // after it
	done                                  string                                   // of a statement without rows
	deadlock, noTable, farewell, nonsense string
}

// said is a message of PostgreSQL.
func said(kind byte, body string) string {
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))
	return string(append(b, body...))
}

// packet is one of MariaDB.
func packet(body string) string {
	return string([]byte{byte(len(body)), byte(len(body) >> 8), 0, 1}) + body
}

const (
	complete = "X\x00"
	fine     = "\x00\x00\x00\x02\x00\x00\x00"
)

var (
	idle    = said(postgres.Ready, "I")
	postgre = server{
		protocol: engine.PostgreSQL, row: func(values ...string) string {
			b := binary.BigEndian.AppendUint16(nil, uint16(len(values)))
			for _, v := range values {
				b = postgres.AppendText(b, v)
			}
			return said(postgres.DataRow, string(b))
		},
		rows: func(_ int, rows ...string) string {
			return strings.Join(rows, "") + said(postgres.CommandComplete, complete) + idle
		},
		idle: idle, done: said(postgres.CommandComplete, complete),
		deadlock: said(postgres.Failure, "SERROR\x00C40P01\x00Mdeadlock detected\x00\x00") + idle,
		noTable:  said(postgres.Failure, "SERROR\x00C42P01\x00Mno such table\x00\x00") + idle,
		nonsense: "+OK\r\n",
		farewell: said(postgres.Failure, "SFATAL\x00VFATAL\x00C57P01\x00Mterminating\x00\x00"),
	}
	maria = server{
		protocol: engine.MariaDB, row: func(values ...string) string {
			b := make([]byte, 1+(len(values)+9)/8)
			for _, v := range values {
				b = append(append(b, byte(len(v))), v...)
			}
			return packet(string(b))
		},
		rows: func(columns int, rows ...string) string {
			column := packet("\x03def\x00\x00\x00\x00\x00\x0c\x2d\x00\x04\x00\x00\x00\xfd\x00\x00\x00\x00\x00")
			return packet(string([]byte{byte(columns), 1})) + strings.Repeat(column, columns) + strings.Join(rows, "") + packet("\xfe\x00\x00\x0a\x00\x00\x00") + packet(fine)
		},
		done:     packet(fine),
		deadlock: packet("\xff\xbd\x04#40001Deadlock found"),
		noTable:  packet("\xff\x7a\x04#42S02no such table"),
		nonsense: packet("\xfbfile"),
		farewell: packet("\xff\x87\x07#70100killed"),
	}
	servers = []server{postgre, maria}
)

func built(t testing.TB, settings parameter.Settings) *store {
	t.Helper()
	l, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*store)
}

// greeting is how MariaDB begins.
const greeting = "\n10.11.19-MariaDB\x00\x07\x00\x00\x00abcdefgh\x00\xfe\xf7\x2d\x02\x00\xff\x81\x15\x00\x00\x00\x00\x00\x00\x1d\x00\x00\x00ijklmnopqrst\x00mysql_native_password\x00"

// sitting is a user whose session has begun.
type sitting struct {
	*script
	load.MultiRequest
}

func (s server) sitting(t testing.TB, settings parameter.Settings) sitting {
	t.Helper()
	d, statements := built(t, settings), book(s.protocol)
	script := &script{shopper: shopper{Parameters: d.Parameters, source: newSource(1, 1), z: d.size()}, session: engine.NewSession(wire.Account{}, "", statements.Statements), tally: &tally{}}
	k := sitting{script, newDialogue(script, statements)}
	hello := idle + strings.Repeat(said(postgres.ParseComplete, ""), int(callsInAll)+4) + idle
	if s.protocol == engine.MariaDB {
		hello = packet(greeting) + packet(fine)
		for n := range int(callsInAll) + 1 { // what begins and ends transactions is not prepared
			hello += packet("\x00" + string([]byte{byte(n + 1)}) + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
		}
	} else {
		k.session.AppendStart(nil)
	}
	for data := []byte(hello); len(data) > 0; {
		_, used, err := k.Answer(data)
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

func (t sitting) answer(test testing.TB, data string, slot int) load.Answer {
	test.Helper()
	a, used, err := t.Answer([]byte(data))
	if err != nil || a.Slot != slot || used != len(data) {
		test.Fatalf("%q: %+v, %d of %d, %v", data, a, used, len(data), err)
	}
	return a
}

// undone has MariaDB roll back what a call that failed may have left.
func (t sitting) undone(test testing.TB, s server, slot int) (a load.Answer) {
	test.Helper()
	if s.protocol == engine.MariaDB {
		if b := string(t.Next(nil)); !strings.Contains(b, "ROLLBACK") {
			test.Errorf("it says %q", b)
		}
		a = t.answer(test, s.done, slot)
	}
	return a
}

// reply is what a server answers to the call that is under way.
func (s server) reply(t sitting) string {
	switch t.shopper.call {
	case callLogin:
		return s.rows(4, s.row(fmt.Sprint(t.shopper.number), "A", "B", "C"))
	case callPrices:
		var all []string
		for _, p := range t.shopper.products[:t.shopper.lines] {
			all = append(all, s.row(fmt.Sprint(p), "10.00"))
		}
		return s.rows(2, all...)
	case callBrowseCategory:
		return s.rows(1)
	}
	return s.rows(1, s.row("7"))
}

// until asks and answers up to a call.
func (s server) until(test testing.TB, t sitting, want call) {
	test.Helper()
	for range 10_000 {
		if t.Request(nil, 0); t.shopper.call == want {
			return
		}
		if a := t.answer(test, s.reply(t), 0); a.Failed || a.Again != t.shopper.begun {
			test.Fatalf("%s: %+v, %s", functionName(t.shopper.call), a, t.tally.Why)
		}
	}
	test.Fatalf("no %s comes", functionName(want))
}

func TestOrderToItsEnd(t *testing.T) {
	for _, srv := range servers {
		k := srv.sitting(t, nil)
		now := time.Unix(0, 0)
		k.clock = func() time.Time { now = now.Add(time.Second); return now }
		srv.until(t, k, callPurchase)
		pieces, lines := int64(k.shopper.bought()), int64(k.shopper.lines)
		if k.tally.pending != lines || k.tally.pendingPieces != pieces || k.tally.pendingNet != 1000*pieces {
			t.Errorf("under way: %+v", k.tally)
		}
		a := k.answer(t, srv.reply(k), 0)
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
}

func TestVictimIsTriedAgain(t *testing.T) {
	for _, srv := range servers {
		for _, mode := range []string{sound, faithful} {
			k := srv.sitting(t, parameter.Settings{"mode": mode, "retries": "1"})
			srv.until(t, k, callPurchase)
			pending := k.tally.pending
			k.answer(t, srv.deadlock, load.NoSlot)
			k.undone(t, srv, load.NoSlot)
			b, before := string(k.Next(nil)), ""
			if srv.protocol == engine.PostgreSQL && (strings.Count(b, "purchase") != 1 || strings.Contains(b, "pause") != (mode == faithful)) {
				t.Errorf("%s: it says %q", mode, b)
			}
			if mode == faithful { // the pause brings a row of its own
				if srv.protocol == engine.PostgreSQL {
					before += srv.row("")
				}
				k.answer(t, before+srv.done, load.NoSlot)
			}
			var a load.Answer
			if srv.protocol == engine.MariaDB {
				k.answer(t, srv.deadlock, load.NoSlot)
				a = k.undone(t, srv, 0)
			} else {
				a = k.answer(t, srv.deadlock, 0)
			}
			if !a.Failed || a.Again || k.tally.Retries != 1 || k.tally.pending != 0 || pending == 0 {
				t.Errorf("%s: %+v, %+v", mode, a, k.tally)
			}
			if n := k.tally.unknown(callPurchase); n != 0 {
				t.Errorf("%s: of %d purchases the answer is not known", mode, n)
			}
		}
	}
}

func TestNameThatIsTaken(t *testing.T) {
	for _, srv := range servers {
		k := srv.sitting(t, parameter.Settings{"new_customers": "100%"})
		srv.until(t, k, callNewCustomer)
		first := string(k.shopper.words)
		k.answer(t, srv.rows(1, srv.row("0")), load.NoSlot)
		if b := string(k.Next(nil)); strings.Contains(b, first) || !strings.Contains(b, "newuser") {
			t.Errorf("it says %q again", b)
		}
		if a := k.answer(t, srv.rows(1, srv.row("9")), 0); a.Failed || k.shopper.customer != 9 || k.tally.taken != 1 || k.tally.customers != 1 {
			t.Errorf("%+v, %+v", a, k.tally)
		}
	}
}

func TestWhatIsWrong(t *testing.T) {
	for _, srv := range servers {
		for _, c := range []struct {
			mode   string
			call   call
			answer string
			want   string // empty: it is right
		}{
			{sound, callLogin, srv.rows(4, srv.row("0", "None", "None", "None")), "is not known"},
			{sound, callPurchase, srv.rows(1, srv.row("0")), "not placed"},
			{faithful, callPurchase, srv.rows(1, srv.row("0")), ""},
			{sound, callPrices, srv.rows(2), "has no price"},
			{sound, callBrowseTitle, srv.rows(1, strings.Repeat(srv.row("1"), 10)), "expected 6"},
			{sound, callNewReview, srv.rows(1, srv.row("0")), "no number"},
			{sound, callBrowseCategory, srv.noTable, "no such table"},
		} {
			k := srv.sitting(t, parameter.Settings{"mode": c.mode, "new_reviews": "100%"})
			srv.until(t, k, c.call)
			var a load.Answer
			if c.answer == srv.noTable && srv.protocol == engine.MariaDB {
				k.answer(t, c.answer, load.NoSlot)
				a = k.undone(t, srv, 0)
			} else {
				a = k.answer(t, c.answer, 0)
			}
			if a.Failed != (c.want != "") || !strings.Contains(k.tally.Why, c.want) {
				t.Errorf("%s, %s: %+v, %q", c.mode, functionName(c.call), a, k.tally.Why)
			}
			// A purchase that found too little is there in part, or not at all.
			s, part := k.tally, srv.protocol == engine.PostgreSQL
			if c.mode == faithful && (s.short != 1 || s.pending > 0 != part || s.pendingNet != 0 || s.net > 0 != part || s.undone > 0 == part) {
				t.Errorf("a purchase that found too little: %+v", k.tally)
			}
		}
	}
}

func TestServerThatMakesNoSense(t *testing.T) {
	for _, srv := range servers {
		for what, data := range map[string]string{
			"another protocol": srv.nonsense,
			"no number":        srv.rows(4, srv.row("many", "", "", "")),
			"a value too few":  srv.rows(1, srv.row("1")),
			"a farewell":       srv.farewell,
		} {
			k := srv.sitting(t, parameter.Settings{"new_customers": "0%"})
			srv.until(t, k, callLogin)
			if _, _, err := k.Answer([]byte(data)); err == nil || errors.Is(err, load.ErrRefused) != (what == "a farewell") {
				t.Errorf("%s, %s: %v", srv.protocol, what, err)
			}
		}
		k := srv.sitting(t, nil)
		if _, _, err := k.Answer([]byte(srv.done + srv.idle)); err == nil {
			t.Error("an answer that nobody asked for is believed")
		}
	}
}

// A call allocates nothing.
func TestCallsAllocateNothing(t *testing.T) {
	for _, srv := range servers {
		k := srv.sitting(t, parameter.Settings{"new_members": "20%", "new_reviews": "50%", "ratings": "50%"})
		b := make([]byte, 0, 1<<16)
		for range 500 { // buffers grow
			srv.until(t, k, callPurchase)
			k.answer(t, srv.rows(1, srv.row("7")), 0)
		}
		// Answers are made before.
		number, nothing := []byte(srv.rows(1, srv.row("7"))), []byte(srv.rows(1))
		logins := make([][]byte, k.shopper.z.customers+1)
		for n := range logins {
			logins[n] = []byte(srv.rows(4, srv.row(fmt.Sprint(n), "X", "X", "X")))
		}
		if n := testing.AllocsPerRun(2000, func() {
			k.Request(b, 0)
			data := number
			switch k.shopper.call {
			case callLogin:
				data = logins[k.shopper.number]
			case callPrices:
				for n := range k.shopper.prices[:k.shopper.lines] {
					k.shopper.prices[n] = 1
				}
				data = nothing
			case callBrowseCategory, callBrowseActor, callBrowseTitle:
				data = nothing
			}
			if a, _, err := k.Answer(data); err != nil || a.Slot != 0 || a.Failed {
				t.Fatalf("%s: %+v, %v", functionName(k.shopper.call), a, err)
			}
			k.Next(b)
		}); n != 0 {
			t.Errorf("%s: %g allocations", srv.protocol, n)
		}
	}
}

// Whatever a server sends, nothing panics and nothing is used that is not there.
func FuzzAnswer(f *testing.F) {
	for n, srv := range servers {
		f.Add([]byte(srv.rows(4, srv.row("1", "A", "B", "C"))), uint8(callLogin), uint8(n))
		f.Add([]byte(srv.rows(2, srv.row("1", "9.99"), srv.row("2", "19.99"))), uint8(callPrices), uint8(n))
		f.Add([]byte(srv.deadlock+srv.rows(1, srv.row("5"))), uint8(callPurchase), uint8(n))
	}
	f.Fuzz(func(t *testing.T, data []byte, which, of uint8) {
		k := servers[int(of)%len(servers)].sitting(t, parameter.Settings{"retries": "1"})
		k.Request(nil, 0)
		k.shopper.call = call(which) % callsInAll
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
		{parameter.Settings{"shape": "ramp to 5 over 60s"}, "requires rate"},
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
