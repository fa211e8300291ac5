package load

import "sync"

// Ledger holds the counts of a load by connection.
type Ledger[T any] struct {
	mu     sync.Mutex
	made   int
	sheets []*T
}

// mostSheets bounds the counted connections, in case a server closes connections repeatedly.
const mostSheets = 100_000

// Sheet returns the counts of a new connection.
func (l *Ledger[T]) Sheet() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := new(T)
	if l.made++; len(l.sheets) < mostSheets {
		l.sheets = append(l.sheets, t)
	}
	return t
}

// Made is the number of connections.
func (l *Ledger[T]) Made() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

// Sheets are the counts of all connections, final after the load.
func (l *Ledger[T]) Sheets() []*T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sheets
}
