package load

import "testing"

// A server that repeatedly closes connections must not fill our memory.
func TestLedgerIsBounded(t *testing.T) {
	l := &Ledger[int]{}
	first := l.Sheet()
	for range mostSheets + 9 {
		l.Sheet()
	}
	if l.Made() != mostSheets+10 || len(l.Sheets()) != mostSheets || l.Sheets()[0] != first {
		t.Errorf("%d made, %d kept", l.Made(), len(l.Sheets()))
	}
}
