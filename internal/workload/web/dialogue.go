package web

import (
	"math/rand/v2"

	"plimsoll/internal/load"
)

// visit is what one operation asks for: the requests of it, to be written one after
// the other, and how many answers end it.
type visit struct {
	requests []byte
	answers  int
}

// dialogue asks for visits drawn at random. HTTP/1.1 answers in order, so that the
// answers to come are those of the oldest visit under way.
type dialogue struct {
	visits []visit
	source rand.PCG
	under  []int // answers that each slot still waits for
	oldest int   // slot whose answers come now
	window int
	now    response
	bytes  int64
	failed bool
	sheet  *sheet
}

// sheet counts what a connection was answered, by class of status.
type sheet struct {
	statuses [6]int64 // 1xx to 5xx at 1 to 5
}

func newDialogue(visits []visit, window int, source rand.PCG, s *sheet) *dialogue {
	return &dialogue{visits: visits, source: source, under: make([]int, window), window: window, sheet: s}
}

// Request asks for one visit.
func (d *dialogue) Request(buffer []byte, slot int) ([]byte, int) {
	v := &d.visits[0]
	if len(d.visits) > 1 {
		v = &d.visits[d.source.Uint64()%uint64(len(d.visits))]
	}
	d.under[slot] = v.answers
	return append(buffer, v.requests...), 0
}

// Answer reads up to the end of one visit. A status of 400 and above, or a redirect,
// fails it: what was asked for did not come.
func (d *dialogue) Answer(data []byte) (load.Answer, int, error) {
	used := 0
	for used < len(data) {
		n, ended, err := d.now.read(data[used:])
		used += n
		switch {
		case err != nil:
			return load.Answer{}, used, err
		case !ended && n == 0:
			return load.Answer{Slot: load.NoSlot}, used, nil
		case !ended:
			continue
		}
		if a := d.end(); a.Slot != load.NoSlot {
			return a, used, nil
		}
	}
	return load.Answer{Slot: load.NoSlot}, used, nil
}

// end takes the answer that has just ended.
func (d *dialogue) end() load.Answer {
	r := d.now
	d.now = response{}
	d.sheet.statuses[min(r.status/100, 5)]++
	d.bytes += r.body
	d.failed = d.failed || r.status >= 300
	d.under[d.oldest]--
	if d.under[d.oldest] > 0 && !r.closing {
		return load.Answer{Slot: load.NoSlot}
	}
	a := load.Answer{Slot: d.oldest, Bytes: d.bytes, Failed: d.failed || d.under[d.oldest] > 0, Last: r.closing}
	d.bytes, d.failed = 0, false
	d.oldest = (d.oldest + 1) % d.window
	return a
}
