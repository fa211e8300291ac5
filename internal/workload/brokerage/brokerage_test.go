package brokerage

import (
	"strings"
	"testing"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// drawn is what so many transactions ask for.
func drawn(n int, spoil func(*connectionScript)) *tally {
	d := &connectionScript{source: newSource(3, 4), z: size{customers: 2000, days: 1}, tally: &tally{}, session: statementBook(engine.PostgreSQL).Session(wire.Account{}, readCommitted)}
	buffer := make([]byte, 0, 1<<16)
	for range n {
		class := d.Draw()
		if class == tradeOrder && len(d.exchange.due) < 5 {
			d.exchange.due = append(d.exchange.due, 1)
		}
		d.Ask(buffer, dialogue.Turn{Class: class, Round: 1})
		if spoil != nil {
			spoil(d)
		}
	}
	return d.tally
}

// What is drawn has the shares that it is to have, and a planted fault of each kind is
// noticed.
func TestDistribution(t *testing.T) {
	sum := drawn(200_000, nil)
	if c := sum.check(); c.State != measure.Pass {
		t.Error(c.Detail)
	}
	for what, spoil := range map[string]func(*tally){
		"feeds":     func(s *tally) { s.drawn[marketFeed] = s.drawn[marketFeed] * 5 / 4 },
		"results":   func(s *tally) { s.drawn[tradeResult] = s.drawn[tradeResult] * 9 / 10 },
		"market":    func(s *tally) { s.market = s.orders / 2 },
		"sales":     func(s *tally) { s.sell = s.sell * 11 / 10 },
		"names":     func(s *tally) { s.named = 0 },
		"rollbacks": func(s *tally) { s.rolled *= 2 },
		"tiers":     func(s *tally) { s.third = s.orders / 5 },
		"lookups":   func(s *tally) { s.frames[ofHolding] *= 2 },
		"watches":   func(s *tally) { s.lists = s.lists * 9 / 10 },
	} {
		spoilt := tally{}
		spoilt.add(sum)
		spoil(&spoilt)
		if c := spoilt.check(); c.State != measure.Fail {
			t.Errorf("%s: %s", what, c.Detail)
		}
	}
	if c := (&tally{}).check(); c.State != measure.Unknown {
		t.Errorf("nothing was drawn: %+v", c)
	}
}

// Later ranks of a tier come more often, in the ratio of the specification's generator.
func TestCustomersOfATier(t *testing.T) {
	s, z := newSource(1, 1), size{customers: 1000, days: 1}
	ranks := z.ranks()
	var counts [unit]int
	const n = 2_000_000
	for range n {
		c, tier := s.customer(z)
		rank := ranks[c-1]
		if counts[rank]++; tier != z.tierOf(rank) {
			t.Fatalf("customer %d has tier %d and %d", c, tier, z.tierOf(rank))
		}
	}
	sum := func(from, to int) (all int) {
		for _, n := range counts[from:to] {
			all += n
		}
		return all
	}
	for _, c := range []struct {
		from, to int
		want     float64
	}{{0, 200, .1}, {200, 800, .6}, {800, 1000, .3}, {190, 200, .0069}, {0, 10, .0031}, {800, 810, .0131}, {990, 1000, .0169}} {
		if got := float64(sum(c.from, c.to)) / n; got < c.want*.97 || got > c.want*1.03 {
			t.Errorf("ranks %d to %d have a share of %.4f, not %.4f", c.from, c.to, got, c.want)
		}
	}
	for _, z := range []size{{customers: 100}, {customers: 700}, {customers: 3000}} {
		seen := map[int]bool{}
		for block := range z.customers / z.block() {
			for rank := range z.block() {
				seen[z.ranked(block, rank)] = true
			}
		}
		if len(seen) != z.customers || !seen[1] || !seen[z.customers] {
			t.Errorf("of %d customers %d have a rank", z.customers, len(seen))
		}
	}
}

// The client's count is held against the server's.
func TestCounted(t *testing.T) {
	sum := tally{placed: 90, rolledBack: 1}
	sum.drawn[tradeOrder], sum.drawn[tradeResult], sum.done[tradeResult] = 100, 50, 48
	for _, c := range []struct {
		placed, completed int64
		want              measure.State
	}{{89, 48, measure.Fail}, {90, 48, measure.Pass}, {99, 50, measure.Pass}, {100, 50, measure.Fail}, {90, 47, measure.Fail}, {90, 51, measure.Fail}} {
		if got := sum.counted(stock{1000 + c.placed, 7 + c.completed}, stock{1000, 7}); got.State != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestExecute(t *testing.T) {
	d := deal{trade: 9, quantity: 400, price: 2500, order: marketSell, charge: 500, rate: 50, taxStatus: 1, taxRate: 2000}
	// 100 are sold with a gain of 5.00 each and 200 with a loss of 1.00; 100 are owed.
	o := d.execute([]lot{{1, 2000, 100}, {2, 2600, 200}})
	want := outcome{count: 3, rest: -100, commission: 5000, tax: 6000, amount: 1_000_000 - 500 - 5000 - 6000}
	want.steps = [mostLots + 1]step{{1, 100, 0}, {2, 200, 0}, {9, 0, -100}}
	if o != want {
		t.Errorf("%+v, not %+v", o, want)
	}
	// What is owed is bought back, and no tax is due by the broker.
	d.order, d.quantity, d.taxStatus = limitBuy, 300, 2
	o = d.execute([]lot{{9, 2700, -100}, {8, 2400, -400}})
	want = outcome{count: 2, commission: 3750, tax: 0, amount: -750_000 - 500 - 3750}
	want.steps = [mostLots + 1]step{{9, -100, 0}, {8, -400, -200}}
	if o != want {
		t.Errorf("%+v, not %+v", o, want)
	}
	// More of the same is a lot of its own.
	if o = d.execute([]lot{{1, 2000, 800}}); o.count != 1 || o.rest != 300 {
		t.Errorf("%+v", o)
	}
}

// The most lots that a trade can need are as many as are asked for.
func TestLotsAreEnough(t *testing.T) {
	k := newBook(size{customers: 100, days: 300}, 1)
	for account := 1; account <= 10; account++ {
		k.open(account)
		for p, more := k.trade(); more; p, more = k.trade() {
			sum := 0
			for _, s := range p.steps[:p.count] {
				sum += s.after - s.before
			}
			if sum != p.signed() {
				t.Fatalf("trade %d of %d shares moves %d", p.trade, p.signed(), sum)
			}
		}
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"shape": "ramp to 5 over 60s"}, "requires rate"},
		{parameter.Settings{"customers": "1500"}, "a multiple of 1000"},
		{parameter.Settings{"customers": "150"}, "or of 100 below that"},
		{parameter.Settings{"customers": "1000000", "days": "300"}, "can be numbered"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
}

var (
	did    = enginetest.Message(postgres.CommandComplete, "X\x00")
	idle   = enginetest.Message(postgres.Ready, "I")
	within = enginetest.Message(postgres.Ready, "T")
)

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// sitting is a session that serves, with a transaction of a class under way.
func sitting(t testing.TB, class int) (*connectionScript, *dialogue.Dialogue) {
	t.Helper()
	book := statementBook(engine.PostgreSQL)
	serving := book.Session(wire.Account{}, readCommitted)
	serving.AppendStart(nil)
	words := []string{string(idle)}
	for range statements + 3 {
		words = append(words, string(enginetest.Message(postgres.ParseComplete, "")))
	}
	for _, word := range append(words, string(idle)) {
		if _, _, err := serving.Hear([]byte(word)); err != nil {
			t.Fatal(err)
		}
	}
	d := &connectionScript{source: newSource(1, 1), z: size{customers: 100, days: 1}, tally: &tally{}, session: serving}
	for n := uint64(2); ; n++ {
		d.exchange.due, d.exchange.promised = nil, 0
		if class == tradeResult {
			d.exchange.due = []int{77}
		}
		a := dialogue.New(dialogue.Setup{Session: serving, Book: book, Window: 1, Retries: 1, Count: &d.tally.Count}, d)
		if _, got := a.Request(nil, 0); got == class {
			return d, a
		}
	}
}

// A result sells what an account holds, and pays for it.
func TestResult(t *testing.T) {
	d, a := sitting(t, tradeResult)
	if got, used, err := a.Answer(join(did,
		enginetest.Row("5", "TMS", "AAAAAB", "300", "5.00", "f", "t", "Common shares"), did, enginetest.Row("1", "0", "10.00", "0.50"), did,
		enginetest.Row("200"), did, enginetest.Row("3", "20.00", "200"), did, within)); err != nil || got.Slot != load.NoSlot || used == 0 {
		t.Fatal(got, used, err)
	}
	b := string(a.Next(nil))
	for _, word := range []string{"tr_sell", "tr_hold", "tr_step", "tr_sum", "tr_done", "tr_settle", "tr_pay", "tr_cash", "tr_broker", "commit", "Market-Sell 300 shares of Common shares"} {
		if !strings.Contains(b, word) {
			t.Errorf("%s is missing in %q", word, b)
		}
	}
	if got, _, err := a.Answer(idle); err != nil || got.Slot != 0 || got.Failed || d.tally.done[tradeResult] != 1 || len(d.exchange.due) != 0 {
		t.Errorf("%+v, %v, %+v", got, err, d.tally)
	}
	// A trade that is not there is no result.
	d, a = sitting(t, tradeResult)
	if _, _, err := a.Answer(join(did, did, did, did, did, within)); err != nil {
		t.Fatal(err)
	}
	if b := string(a.Next(nil)); !strings.Contains(b, "rollback") {
		t.Errorf("%q", b)
	}
	if got, _, err := a.Answer(join(did, idle)); err != nil || !got.Failed || !strings.Contains(d.tally.Why, "not submitted") {
		t.Errorf("%+v, %v, %+v", got, err, d.tally)
	}
}

// An order that is due at the market comes back as the next result.
func TestOrderComesBack(t *testing.T) {
	for range 20 {
		d, a := sitting(t, tradeOrder)
		d.order.order, d.order.rolled = marketBuy, false
		if _, _, err := a.Answer(join(did, enginetest.Row("A", "1", "0", "9", "2", "10.00", "N", "B"), did, enginetest.Row("AAAAAB", "N", "25.00"), did, did, enginetest.Row("5.00", "0.50"), did, within)); err != nil {
			t.Fatal(err)
		}
		a.Next(nil)
		if got, _, err := a.Answer(join(enginetest.Row("99"), did, did, did, idle)); err != nil || got.Failed || len(d.exchange.due) != 1 || d.exchange.due[0] != 99 {
			t.Fatal(got, err, d.exchange.due)
		}
	}
}

// Whatever a server sends, nothing panics and nothing is used that is not there.
func FuzzAnswer(f *testing.F) {
	f.Add(join(did, enginetest.Row("5", "TMS", "AAAAAB", "300", "5.00", "f", "t", "C"), did, enginetest.Row("1", "0", "10.00", "0.50"), did, enginetest.Row("200"), did, enginetest.Row("3", "20.00", "200"), did, within, idle), uint8(tradeResult))
	f.Add(join(did, enginetest.Row("A", "1", "0", "9", "2", "10.00", "N", "B"), did, enginetest.Row("AAAAAB", "N", "25.00"), did, did, enginetest.Row("5.00", "0.50"), did, within, enginetest.Row("99"), did, idle), uint8(tradeOrder))
	f.Add(join(did, did, enginetest.Row("7"), did, idle), uint8(marketFeed))
	f.Add(join(did, enginetest.Row("7", "1", "x", "t", "t", ""), did, within, idle), uint8(tradeLookup))
	f.Add(join(did, enginetest.Row("7"), did, enginetest.Row("7", "8", "9"), did, within, idle), uint8(customerPosition))
	f.Fuzz(func(t *testing.T, data []byte, class uint8) {
		_, a := sitting(t, int(class)%kinds)
		for len(data) > 0 {
			_, used, err := a.Answer(data)
			if used < 0 || used > len(data) {
				t.Fatalf("%d of %d bytes are used", used, len(data))
			}
			if err != nil || used == 0 {
				return
			}
			data = data[used:]
			a.Next(nil)
		}
	})
}

// What is drawn and asked allocates nothing.
func TestAskingAllocatesNothing(t *testing.T) {
	for _, protocol := range engine.Protocols() {
		b := make([]byte, 0, 1<<16)
		d := &connectionScript{
			source: newSource(1, 1), z: size{customers: 100, days: 1}, tally: &tally{}, text: make([]byte, 0, 1000), name: make([]byte, 0, 1000), exchange: exchange{due: make([]int, 0, 1000)},
			session: statementBook(protocol).Session(wire.Account{}, readCommitted),
		}
		for range 2000 {
			d.Ask(b, dialogue.Turn{Class: d.Draw(), Round: 1}) // as much as can be under way
		}
		if n := testing.AllocsPerRun(2000, func() {
			class := d.Draw()
			if class == tradeOrder {
				d.exchange.due = append(d.exchange.due, 1)
			}
			d.Ask(b, dialogue.Turn{Class: class, Round: 1})
		}); n != 0 {
			t.Errorf("%s: %g allocations", protocol, n)
		}
	}
}
