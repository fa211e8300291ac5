package dialogue

import "sync"

// Ledger keeps a sheet of counts for each connection of a load. Its zero value is empty.
type Ledger[T any] struct {
	mu     sync.Mutex
	made   int
	sheets []*T
}

// mostSheets is how many connections are counted. Only a server that hangs up again and
// again makes more.
const mostSheets = 100_000

// Sheet is a new sheet, for one more connection.
func (l *Ledger[T]) Sheet() *T {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := new(T)
	if l.made++; len(l.sheets) < mostSheets {
		l.sheets = append(l.sheets, s)
	}
	return s
}

// Made is how many connections there were.
func (l *Ledger[T]) Made() int { return l.made }

// Sheets are those of all connections. Nobody may write on one any more.
func (l *Ledger[T]) Sheets() []*T { return l.sheets }
