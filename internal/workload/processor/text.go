package processor

import (
	"bytes"
	"strconv"
)

// write makes text of a size: lines such as
//
//	n17 = (n4 + 93) * n230 - 7;
//
// It is always the same text, whatever the seed of a study, so that its answers are known.
func write(size int) []byte {
	w := &writer{text: make([]byte, 0, size+128), state: 0x706c696d736f6c6c}
	for len(w.text) < size {
		w.name()
		w.text = append(w.text, " = "...)
		w.expression(3)
		w.text = append(w.text, ";\n"...)
	}
	// The rest of a line that does not fit is left out, and the line with it.
	whole := bytes.LastIndexByte(w.text[:size], '\n') + 1
	for i := whole; i < size; i++ {
		w.text[i] = ' '
	}
	return w.text[:size]
}

type writer struct {
	text  []byte
	state uint64
}

// next is splitmix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014).
func (w *writer) next(n uint64) uint64 {
	w.state += 0x9e3779b97f4a7c15
	z := w.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) % n
}

// names is how many different ones there are. Few of them are used often, as in programs.
const names = 4096

func (w *writer) name() {
	most := w.next(names) + 1
	w.text = append(w.text, 'n')
	w.text = strconv.AppendUint(w.text, w.next(most), 10)
}

func (w *writer) expression(depth int) {
	terms := 1 + w.next(3)
	for i := range terms {
		if i > 0 {
			w.text = append(w.text, ' ', "+-*&^"[w.next(5)], ' ')
		}
		switch kind := w.next(8); {
		case depth > 0 && kind < 2:
			w.text = append(w.text, '(')
			w.expression(depth - 1)
			w.text = append(w.text, ')')
		case kind < 5:
			w.name()
		default:
			w.text = strconv.AppendUint(w.text, w.next(1000), 10)
		}
	}
}
