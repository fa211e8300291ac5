package keyvalue

import (
	"bytes"
	"errors"
	"fmt"

	"plimsoll/internal/load"
)

// verb is what an operation does with its key.
type verb uint8

const (
	read verb = iota
	write
	remove
)

// chooser says what to do next, and with which key.
type chooser interface {
	choose() (key int64, v verb)
}

// grammar is how a protocol writes requests and what its replies mean. Both that
// are spoken here answer in the order of the requests. It keeps nothing, so that all
// connections may share it.
type grammar interface {
	// request appends the request for a verb. Of a write it ends where the value
	// begins, after which comes lineEnd.
	request(buffer []byte, v verb, key []byte, size int) []byte
	// reply reads the first line of the reply to a request, without its end. Its
	// error says that no server of the protocol would answer so.
	reply(line []byte, v verb, key []byte) (reply, error)
	// hello is a question to which any server of the protocol has an answer, and how
	// that begins.
	hello() (question, answer string)
}

const lineEnd = "\r\n"

// reply is what the first line of a reply says.
type reply struct {
	kind fate
	size int    // of the value that follows
	tail string // that follows the value
	ours bool   // the value is said to be that of the key asked for
}

// fate is what became of an operation.
type fate uint8

const (
	done    fate = iota
	absent       // there is no value for the key
	refused      // the server answers with an error
	follows      // the value comes after the line
)

// tally counts what the operations of one connection came to.
type tally struct {
	reads   int64 // answered well, with or without a value
	misses  int64 // of the reads: nothing found
	wrong   int64 // reads that brought another value than was written
	refused int64 // operations that the server answered with an error
	why     string
	deepest int // most operations that were ever outstanding on a connection
}

func (t *tally) add(other *tally) {
	t.reads += other.reads
	t.misses += other.misses
	t.wrong += other.wrong
	t.refused += other.refused
	t.deepest = max(t.deepest, other.deepest)
	if t.why == "" {
		t.why = other.why
	}
}

// talk is the dialogue of one connection.
type talk struct {
	grammar grammar
	data    *dataset
	chooser chooser
	classes [3]int // by verb

	ring     []operation // outstanding, in the order of their answers
	from, to int
	tally    *tally  // by itself, since it outlives the connection
	text     keyText // of the operation that is being asked or answered

	// The value that is coming in.
	inside bool
	size   int
	at     int // bytes of the value and its tail that have come
	tail   string
	right  bool
}

type operation struct {
	key  int64
	slot int
	verb verb
}

func newTalk(g grammar, d *dataset, c chooser, window int) *talk {
	return &talk{grammar: g, data: d, chooser: c, ring: make([]operation, window), tally: &tally{}}
}

// Request appends the next request of the chooser.
func (t *talk) Request(buffer []byte, slot int) ([]byte, int) {
	key, v := t.chooser.choose()
	t.ring[t.to%len(t.ring)] = operation{key, slot, v}
	t.to++
	t.tally.deepest = max(t.tally.deepest, t.to-t.from)
	text := t.text.text(key)
	if v != write {
		return t.grammar.request(buffer, v, text, 0), t.classes[v]
	}
	buffer = t.grammar.request(buffer, v, text, t.data.size(key))
	buffer = t.data.add(buffer, key, text)
	return append(buffer, lineEnd...), t.classes[v]
}

// longestLine is more than any line of a reply that a server sends.
const longestLine = 8192

var none = load.Answer{Slot: load.NoSlot}

// Answer reads the reply to the oldest request.
func (t *talk) Answer(data []byte) (load.Answer, int, error) {
	if len(data) == 0 {
		return none, 0, nil
	}
	if t.from == t.to {
		return none, 0, fmt.Errorf("the server sends %q, which nobody asked for", excerpt(data))
	}
	o := &t.ring[t.from%len(t.ring)]
	text := t.text.text(o.key)
	if t.inside {
		return t.value(o, text, data, 0)
	}
	line, used, err := firstLine(data)
	if used == 0 {
		return none, 0, err
	}
	r, err := t.grammar.reply(line, o.verb, text)
	if err != nil {
		return none, 0, err
	}
	switch r.kind {
	case follows:
		if r.size > largestReply {
			return none, 0, fmt.Errorf("the server announces a value of %d bytes, more than any stores", r.size)
		}
		t.inside, t.size, t.at, t.tail = true, r.size, 0, r.tail
		t.right = r.ours && r.size == t.data.size(o.key)
		return t.value(o, text, data, used)
	case absent:
		t.tally.reads++
		t.tally.misses++
		return t.end(o, 0), used, nil
	case refused:
		if t.tally.refused++; t.tally.why == "" {
			t.tally.why = excerpt(line)
		}
		a := t.end(o, 0)
		a.Failed = true
		return a, used, nil
	}
	if o.verb == write {
		return t.end(o, t.data.size(o.key)), used, nil
	}
	return t.end(o, 0), used, nil
}

// end answers the oldest request.
func (t *talk) end(o *operation, size int) load.Answer {
	t.from++
	return load.Answer{Slot: o.slot, Bytes: int64(size)}
}

// value takes what is there of the value and its tail, after the bytes of data that
// are used already.
func (t *talk) value(o *operation, text, data []byte, used int) (load.Answer, int, error) {
	if t.at < t.size {
		piece := data[used:min(len(data), used+t.size-t.at)]
		t.right = t.right && t.data.holds(o.key, text, t.at, piece)
		t.at += len(piece)
		used += len(piece)
	}
	if t.at < t.size {
		return none, used, nil
	}
	rest := t.tail[t.at-t.size:]
	piece := data[used:min(len(data), used+len(rest))]
	if string(piece) != rest[:len(piece)] {
		return none, used, fmt.Errorf("a value of %d bytes is followed by %q instead of %q", t.size, excerpt(piece), rest)
	}
	t.at += len(piece)
	used += len(piece)
	if len(piece) < len(rest) {
		return none, used, nil
	}
	t.inside = false
	a := t.end(o, t.size)
	if !t.right {
		t.tally.wrong++
		a.Failed = true
		return a, used, nil
	}
	t.tally.reads++
	return a, used, nil
}

// firstLine finds the first line of data, and how long it is with its end: 0 where
// the end is still to come.
func firstLine(data []byte) (line []byte, used int, err error) {
	end := bytes.IndexByte(data[:min(len(data), longestLine)], '\n')
	switch {
	case end < 0 && len(data) >= longestLine:
		return nil, 0, fmt.Errorf("the server sends %q and so on, without an end of the line", excerpt(data))
	case end < 0:
		return nil, 0, nil
	case end == 0 || data[end-1] != '\r':
		return nil, 0, fmt.Errorf("the server sends %q, which does not end as a line of the protocol does", excerpt(data[:end]))
	}
	return data[:end-1], end + 1, nil
}

// excerpt is the beginning of what a server sent, for messages.
func excerpt(data []byte) string { return string(data[:min(len(data), 120)]) }

// strange is the error of a line that no server of the protocol sends.
func strange(protocol string, line []byte) error {
	return fmt.Errorf("what answers does not speak %s: it sends %q", protocol, excerpt(line))
}

// count reads a number of at most ten decimal digits.
func count(digits []byte) (n int, ok bool) {
	if len(digits) == 0 || len(digits) > 10 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// largestReply is more than any server stores under a key.
const largestReply = 1 << 30

var errVerb = errors.New("the server answers another question than the one that was asked")
