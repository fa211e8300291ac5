package load

import "sync"

// Ledger keeps the counts of all connections of a load, each on a sheet of its own.
type Ledger[T any] struct {
	mu     sync.Mutex
	made   int
	sheets []*T
}

// mostSheets is how many connections are counted, so that a server that closes
// connections repeatedly does not fill the memory.
const mostSheets = 100_000

// Sheet is the sheet of a new connection.
func (l *Ledger[T]) Sheet() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := new(T)
	if l.made++; len(l.sheets) < mostSheets {
		l.sheets = append(l.sheets, t)
	}
	return t
}

// Made is how many connections there were.
func (l *Ledger[T]) Made() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

// Sheets are the sheets of all connections. They are final when the load has ended.
func (l *Ledger[T]) Sheets() []*T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sheets
}
