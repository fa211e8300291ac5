package web

import (
	"math/rand/v2"

	"plimsoll/internal/load"
)

// dialogue asks for visits drawn at random. HTTP/1.1 answers in order, so that the
// answers to come are those of the oldest visit under way.
type dialogue struct {
	*tour
	source rand.PCG
	under  []int // answers that each slot still waits for
	oldest int   // slot whose answers come now
	asked  int   // requests on this connection
	now    response
	bytes  int64
	failed bool
	status int // of the last answer
	sheet  *sheet
}

func newDialogue(t *tour, window int, source rand.PCG, s *sheet) *dialogue {
	return &dialogue{tour: t, source: source, under: make([]int, window), now: response{bodiless: t.bodiless}, sheet: s}
}

// farewell is the field that makes a request the last one of its connection.
const farewell = "Connection: close\r\n\r\n"

// Request asks for one visit.
func (d *dialogue) Request(buffer []byte, slot int) ([]byte, int) {
	v := &d.visits[d.choose(&d.source)]
	d.under[slot] = v.answers
	d.asked += v.answers
	if d.reuse > 0 && d.asked+d.longest > d.reuse {
		buffer = append(buffer, v.requests[:len(v.requests)-len("\r\n")]...)
		return append(buffer, farewell...), 0
	}
	return append(buffer, v.requests...), 0
}

// Answer reads up to the end of one visit. An answer whose status is not expected
// fails it: what was asked for did not come.
func (d *dialogue) Answer(data []byte) (load.Answer, int, error) {
	used := 0
	for used < len(data) {
		n, ended, err := d.now.read(data[used:])
		used += n
		switch {
		case err != nil:
			return load.Answer{Slot: load.NoSlot}, used, err
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
	r := &d.now
	d.status = r.status
	d.sheet.count(r.status)
	d.bytes += r.body
	d.failed = d.failed || !d.expected[r.status]
	closing := r.closing
	d.now = response{bodiless: d.bodiless}
	d.under[d.oldest]--
	left := d.under[d.oldest]
	if left > 0 && !closing {
		return load.Answer{Slot: load.NoSlot}
	}
	if left > 0 {
		d.sheet.cut++
		d.failed = true
	}
	a := load.Answer{Slot: d.oldest, Bytes: d.bytes, Failed: d.failed, Last: closing}
	d.bytes, d.failed = 0, false
	d.oldest = (d.oldest + 1) % len(d.under)
	return a
}
