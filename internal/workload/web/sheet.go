package web

import (
	"fmt"
	"strconv"
	"sync"

	"plimsoll/internal/measure"
)

// counts are of answers.
type counts struct {
	classes [6]int64 // of status: 2xx to 5xx at 2 to 5
	cut     int64    // visits that were cut short because the server closed the connection
}

func (c *counts) count(status int) { c.classes[min(status/100, 5)]++ }

// sheet counts what a connection was answered. Its lock is for callers, who may be
// left behind when a load ends; dialogues are not.
type sheet struct {
	mu sync.Mutex
	counts
}

// note counts under the lock.
func (s *sheet) note(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(status)
}

// ledger keeps the counts of all connections. Connections beyond the most share the
// sheets of earlier ones of the same thread, so that two threads never count on one.
type ledger struct {
	most   int
	mu     sync.Mutex
	sheets map[int]*sheet
	made   int
}

// sheetsKept is how many sheets a thread has at most: connections that are made for
// each operation would need as many as there are operations.
const sheetsKept = 1 << 16

func newLedger(threads int) *ledger {
	return &ledger{most: sheetsKept * threads, sheets: map[int]*sheet{}}
}

// sheet is that of a connection.
func (l *ledger) sheet(number int) *sheet {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	number %= l.most
	if l.sheets[number] == nil {
		l.sheets[number] = &sheet{}
	}
	return l.sheets[number]
}

// sum joins all sheets.
func (l *ledger) sum() (sum counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sheets {
		s.mu.Lock()
		for i, n := range s.classes {
			sum.classes[i] += n
		}
		sum.cut += s.cut
		s.mu.Unlock()
	}
	return sum
}

// conclude records the answers.
func (w *web) conclude(l *ledger, out *measure.Recorder) {
	sum := l.sum()
	var all int64
	for _, n := range sum.classes {
		all += n
	}
	for i := 2; i <= 5 && all > 0; i++ {
		out.Value(fmt.Sprintf("status.%dxx", i), float64(sum.classes[i])/float64(all))
	}
	if sum.cut > 0 {
		out.Check(measure.Check{Name: "pages", State: measure.Unknown, Detail: fmt.Sprintf(
			"%d pages failed because the server closed the connection before it had sent all of them: set web.reuse to no more requests than it allows on a connection", sum.cut)})
	}
	if all > 0 {
		out.Observe("web.version", w.Version) // answers in another are none
	}
	out.Observe("web.connections", strconv.Itoa(min(l.made, w.Connections)))
}
