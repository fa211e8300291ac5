package dialogue

import "testing"

// Each connection has a sheet of its own; of very many only the first are kept.
func TestLedger(t *testing.T) {
	var l Ledger[Count]
	for range mostSheets + 2 {
		l.Sheet().Retries++
	}
	var sum Count
	for _, s := range l.Sheets() {
		sum.Add(*s)
	}
	if l.Made() != mostSheets+2 || sum.Retries != mostSheets {
		t.Errorf("%d connections, %d counted", l.Made(), sum.Retries)
	}
}
