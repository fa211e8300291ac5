package processor

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
)

// different is how many units have a text of their own. A larger working set repeats
// them, at other places in memory.
const different = 64

// corpus is the text of units, with the answer of each.
type corpus struct {
	text    []byte // of the different units, one after the other
	unit    int    // bytes of one
	set     int    // bytes of a working set
	answers []uint64
}

func newBook(unit, set int) *corpus {
	n := min(different, set/unit)
	b := &corpus{text: write(n * unit), unit: unit, set: set, answers: make([]uint64, n)}
	for i := range b.answers {
		b.answers[i] = answer(b.text[i*unit : (i+1)*unit])
	}
	return b
}

// thread does units out of a working set of its own.
type thread struct {
	*corpus
	set []byte
	rng *rand.Rand
}

func newThread(b *corpus, size int, seed uint64, number int) *thread {
	return &thread{corpus: b, set: bytes.Repeat(b.text, size/len(b.text)+1)[:size], rng: rand.New(rand.NewPCG(seed, uint64(number)))}
}

// Call does one unit. An answer that is not the known one is an error.
func (t *thread) Call(context.Context) (class int, bytes int64, err error) {
	place := t.rng.IntN(len(t.set) / t.unit)
	got, want := answer(t.set[place*t.unit:(place+1)*t.unit]), t.answers[place%len(t.answers)]
	if got != want {
		return 0, 0, fmt.Errorf("the machine computes incorrectly: the result of a unit is %016x and must be %016x", got, want)
	}
	return 0, int64(t.unit), nil
}

// Close has nothing to close.
func (t *thread) Close() error { return nil }
