package keyvalue

import (
	"bytes"
	"errors"
	"fmt"

	"plimsoll/internal/load"
)

// verb is the kind of an operation.
type verb uint8

const (
	read verb = iota
	write
	remove
)

// chooser chooses the next operation and its key.
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
	// removals is a question for what the store itself removed since it began.
	removals() (question string)
	// hello is a question to which any server of the protocol has an answer, and how
	// that begins.
	hello() (question, answer string)
}

const lineEnd = "\r\n"

// reply is the content of the first line of a reply.
type reply struct {
	kind outcome
	size int    // of the value that follows
	tail string // that follows the value
	ours bool   // the value is said to be that of the key asked for
}

// outcome classifies an operation.
type outcome uint8

const (
	done    outcome = iota
	absent          // there is no value for the key
	refused         // the server answers with an error
	follows         // the value comes after the line
)

// tally counts the outcomes of one connection's operations.
type tally struct {
	reads   int64 // answered well, with or without a value
	misses  int64 // of the reads: nothing found
	wrong   int64 // reads that brought another value than was written, or an older one
	stale   int64 // of these: older than a write that was acknowledged before
	lost    int64 // keys that were there and are not any more
	reread  int64 // of the reads: after the load
	refused int64 // operations that the server answered with an error
	why     string
	deepest int // most operations that were ever outstanding on a connection
}

func (t *tally) add(other *tally) {
	t.reads += other.reads
	t.misses += other.misses
	t.wrong += other.wrong
	t.stale += other.stale
	t.lost += other.lost
	t.refused += other.refused
	t.deepest = max(t.deepest, other.deepest)
	if t.why == "" {
		t.why = other.why
	}
}

// talk is the dialogue of one connection.
type talk struct {
	grammar  grammar
	data     *dataset
	versions *versions // nil where none are looked at
	chooser  chooser
	classes  [3]int // by verb

	ring     []operation // outstanding, in the order of their answers
	from, to int
	tally    *tally  // separate, since it outlives the connection
	text     keyText // of the current operation

	// The value that is coming in.
	inside  bool
	reading reading
	tail    string
	tailAt  int // bytes of the tail that have come
}

type operation struct {
	key  int64
	slot int
	verb verb
	from uint32 // version: of a read the oldest that may come, of a write that with which its group began
	held bool   // of a read: the key was there when it was sent
}

func newTalk(g grammar, d *dataset, c chooser, window int) *talk {
	return &talk{grammar: g, data: d, chooser: c, ring: make([]operation, window), tally: &tally{}}
}

// Request appends the next request of the chooser.
func (t *talk) Request(buffer []byte, slot int) ([]byte, int) {
	key, v := t.chooser.choose()
	o := &t.ring[t.to%len(t.ring)]
	*o = operation{key: key, slot: slot, verb: v}
	t.to++
	t.tally.deepest = max(t.tally.deepest, t.to-t.from)
	text, track := t.text.text(key), t.versions.track(key)
	if v != write {
		if track != nil {
			o.from, o.held = track.floor.Load(), track.gone.Load() == 0
		}
		return t.grammar.request(buffer, v, text, 0), t.classes[v]
	}
	var s stamp
	if track != nil {
		s.writer = t.versions.writer
		s.version, o.from = track.sent()
	}
	buffer = t.grammar.request(buffer, v, text, t.data.size(key))
	buffer = t.data.add(buffer, key, text, s)
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
		return none, 0, fmt.Errorf("unexpected response from the server: %q", excerpt(data))
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
		t.inside, t.tail, t.tailAt = true, r.tail, 0
		t.reading.size, t.reading.at, t.reading.stamp = r.size, 0, stamp{}
		t.reading.right = r.ours && r.size == t.data.size(o.key)
		return t.value(o, text, data, used)
	case absent:
		t.tally.reads++
		t.tally.misses++
		if track := t.versions.track(o.key); track != nil && o.held && track.missing() {
			t.tally.lost++
		}
		return t.end(o, 0), used, nil
	case refused:
		if t.tally.refused++; t.tally.why == "" {
			t.tally.why = excerpt(line)
		}
		if track := t.versions.track(o.key); track != nil && o.verb == write {
			track.refused()
		}
		a := t.end(o, 0)
		a.Failed = true
		return a, used, nil
	}
	if o.verb == write {
		if track := t.versions.track(o.key); track != nil {
			track.acknowledged(o.from)
		}
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
	r := &t.reading
	if r.at < r.size {
		piece := data[used:min(len(data), used+r.size-r.at)]
		r.take(t.data, o.key, text, piece)
		used += len(piece)
	}
	if r.at < r.size {
		return none, used, nil
	}
	rest := t.tail[t.tailAt:]
	piece := data[used:min(len(data), used+len(rest))]
	if string(piece) != rest[:len(piece)] {
		return none, used, fmt.Errorf("a value of %d bytes is followed by %q instead of %q", r.size, excerpt(piece), rest)
	}
	t.tailAt += len(piece)
	used += len(piece)
	if len(piece) < len(rest) {
		return none, used, nil
	}
	t.inside = false
	a := t.end(o, r.size)
	if stale := r.right && t.stale(o); stale || !r.right {
		t.tally.wrong++
		if stale {
			t.tally.stale++
		}
		a.Failed = true
		return a, used, nil
	}
	t.tally.reads++
	return a, used, nil
}

// stale holds the version of a value that was read against what may be read.
func (t *talk) stale(o *operation) bool {
	track := t.versions.track(o.key)
	if track == nil || t.reading.size < leastStamped {
		return false
	}
	if t.versions.unknown(track, t.reading.stamp) {
		t.reading.right = false
		return false
	}
	return t.versions.stale(o.from, t.reading.stamp)
}

// firstLine finds the first line of data, and how long it is with its end: 0 where
// the end is still to come.
func firstLine(data []byte) (line []byte, used int, err error) {
	end := bytes.IndexByte(data[:min(len(data), longestLine)], '\n')
	switch {
	case end < 0 && len(data) >= longestLine:
		return nil, 0, fmt.Errorf("unterminated line from the server: %q", excerpt(data))
	case end < 0:
		return nil, 0, nil
	case end == 0 || data[end-1] != '\r':
		return nil, 0, fmt.Errorf("invalid line ending from the server: %q", excerpt(data[:end]))
	}
	return data[:end-1], end + 1, nil
}

// excerpt is the beginning of a server's response, for messages.
func excerpt(data []byte) string { return string(data[:min(len(data), 120)]) }

// strange is the error of a line that no server of the protocol sends.
func strange(protocol string, line []byte) error {
	return fmt.Errorf("the peer does not speak %s: it sends %q", protocol, excerpt(line))
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

var errVerb = errors.New("response to another request")
