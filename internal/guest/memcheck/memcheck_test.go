package memcheck

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func TestMemoryIsVerified(t *testing.T) {
	t.Parallel()
	stop, in := make(chan struct{}), strings.NewReader(`{"bytes": 100000, "seed": 7}`)
	heard, said := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(stop, in, said) }()
	words := json.NewDecoder(heard)
	var w Word
	if err := words.Decode(&w); err != nil || w.Pages != 24 {
		t.Fatalf("%+v, %v", w, err)
	}
	close(stop)
	if err := words.Decode(&w); err != nil || w.Pages != 24 || w.Wrong != 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestEachPageIsWrittenAndEachLossIsFound(t *testing.T) {
	const pages = 50
	k := newKept(pages, 3)
	before := append([]uint64(nil), k.memory...)
	for range pages {
		k.write()
	}
	for page, n := range k.written {
		if n != 1 {
			t.Errorf("page %d was written %d times", page, n)
		}
	}
	if n := k.wrong(); n != 0 {
		t.Errorf("%d pages are wrong", n)
	}
	k.memory[17]++
	copy(k.memory[30*words:31*words], before[30*words:]) // a write that was lost
	clear(k.memory[40*words : 41*words])                 // a page that was lost
	if n := k.wrong(); n != 3 {
		t.Errorf("%d pages are wrong, 3 were made so", n)
	}
}

func TestOrders(t *testing.T) {
	for _, order := range []string{"", "{}", `{"bytes": 10}`, `{"bytes": 99999999999}`} {
		if err := Serve(nil, strings.NewReader(order), io.Discard); err == nil {
			t.Errorf("%q passed", order)
		}
	}
}
