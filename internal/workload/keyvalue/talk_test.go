package keyvalue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/load"
)

// script chooses what a test says.
type script struct {
	operations []operation
	next       int
}

func (s *script) choose() (int64, verb) {
	o := s.operations[s.next%len(s.operations)]
	s.next++
	return o.key, o.verb
}

func mustBands(t testing.TB, text string) []band {
	t.Helper()
	b, err := parseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var grammars = map[string]grammar{"redis": redis{}, "memcached": memcached{}}

func TestRequestsByHand(t *testing.T) {
	d := newDataset(mustBands(t, "5B"), 1)
	ask := &script{operations: []operation{{key: 42, verb: read}, {key: 1234567890, verb: write}, {key: 0, verb: remove}}}
	for name, want := range map[string]string{
		"redis": "*2\r\n$3\r\nGET\r\n$19\r\nplimsoll:0000000042\r\n" +
			"*3\r\n$3\r\nSET\r\n$19\r\nplimsoll:1234567890\r\n$5\r\n67890\r\n" +
			"*2\r\n$3\r\nDEL\r\n$19\r\nplimsoll:0000000000\r\n",
		"memcached": "get plimsoll:0000000042\r\n" +
			"set plimsoll:1234567890 0 0 5\r\n67890\r\n" +
			"delete plimsoll:0000000000\r\n",
	} {
		talk := newTalk(grammars[name], d, ask, 3)
		talk.classes = [3]int{7, 8, 9}
		var wire []byte
		for slot := range 3 {
			var class int
			if wire, class = talk.Request(wire, slot); class != 7+slot {
				t.Errorf("%s: class %d of operation %d", name, class, slot)
			}
		}
		if string(wire) != want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, wire, want)
		}
	}
}

// ending is an answer as a text.
func ending(a load.Answer) string {
	if a.Failed {
		return fmt.Sprintf("%d failed", a.Slot)
	}
	return fmt.Sprintf("%d with %d", a.Slot, a.Bytes)
}

// hear feeds a dialogue with pieces, as a loop does: what is not used is there again
// with the next piece.
func hear(t testing.TB, d load.Dialogue, pieces ...[]byte) (ends []string, rest []byte, err error) {
	t.Helper()
	for _, piece := range pieces {
		rest = append(rest, piece...)
		for {
			a, used, err := d.Answer(rest)
			if used < 0 || used > len(rest) {
				t.Fatalf("used %d of %d bytes", used, len(rest))
			}
			rest = rest[used:]
			if err != nil {
				return ends, rest, err
			}
			if a.Slot != load.NoSlot {
				ends = append(ends, ending(a))
			}
			if used == 0 {
				if a.Slot != load.NoSlot {
					t.Fatal("an operation ended of itself")
				}
				break
			}
		}
	}
	return ends, rest, nil
}

// talkCase is a reply to some operations, on 30-byte values.
type talkCase struct {
	name  string
	ask   []operation
	wire  string
	want  string // how the operations ended
	tally tally
	err   string
}

func value30(key int64) string {
	var text keyText
	return string(newDataset([]band{{30, 1, 100}}, 1).add(nil, key, text.text(key), stamp{}))
}

func talkCases() map[string][]talkCase {
	reads := []operation{{key: 1, verb: read}, {key: 2, verb: read}}
	writes := []operation{{key: 1, verb: write}, {key: 2, verb: write}}
	removes := []operation{{key: 1, verb: remove}, {key: 2, verb: remove}}
	return map[string][]talkCase{
		"redis": {
			{"reads", reads, "$30\r\n" + value30(1) + "\r\n$30\r\n" + value30(2) + "\r\n", "0 with 30, 1 with 30", tally{reads: 2}, ""},
			{"miss", reads, "$-1\r\n$30\r\n" + value30(2) + "\r\n", "0 with 0, 1 with 30", tally{reads: 2, misses: 1}, ""},
			{"writes", writes, "+OK\r\n+OK\r\n", "0 with 30, 1 with 30", tally{}, ""},
			{"removes", removes, ":1\r\n:0\r\n", "0 with 0, 1 with 0", tally{}, ""},
			{"refused", writes, "-OOM command not allowed\r\n+OK\r\n", "0 failed, 1 with 30", tally{refused: 1, why: "-OOM command not allowed"}, ""},
			{"value of another key", reads, "$30\r\n" + value30(2) + "\r\n$30\r\n" + value30(2) + "\r\n", "0 failed, 1 with 30", tally{reads: 1, wrong: 1}, ""},
			{"value of another size", reads, "$5\r\nabcde\r\n$0\r\n\r\n", "0 failed, 1 failed", tally{wrong: 2}, ""},
			{"value too long", reads[:1], "$33\r\n" + value30(1) + "abc\r\n", "0 failed", tally{wrong: 1}, ""},
			{"value with a wrong end", reads[:1], "$30\r\n" + value30(1)[:29] + "\x00\r\n", "0 failed", tally{wrong: 1}, ""},
			{"nobody asked", nil, "+OK\r\n", "", tally{}, "unexpected response"},
			{"one too many", writes[:1], "+OK\r\n+OK\r\n", "0 with 30", tally{}, "unexpected response"},
			{"another protocol", reads, "HTTP/1.1 400 Bad Request\r\n", "", tally{}, `does not speak redis: it sends "HTTP/1.1 400 Bad`},
			{"value for a write", writes, "$30\r\n", "", tally{}, "another request"},
			{"nothing for a write", writes, "$-1\r\n", "", tally{}, "another request"},
			{"stored for a read", reads, "+OK\r\n", "", tally{}, "another request"},
			{"number for a read", reads, ":1\r\n", "", tally{}, "another request"},
			{"odd status", writes, "+QUEUED\r\n", "", tally{}, "does not speak redis"},
			{"odd number", removes, ":x\r\n", "", tally{}, "does not speak redis"},
			{"odd size", reads, "$3x\r\n", "", tally{}, "does not speak redis"},
			{"negative size", reads, "$-2\r\n", "", tally{}, "does not speak redis"},
			{"huge size", reads, "$4000000000\r\n", "", tally{}, "more than any stores"},
			{"no number", reads, "$\r\n", "", tally{}, "does not speak redis"},
			{"empty line", reads, "\r\n", "", tally{}, "does not speak redis"},
			{"bare end of line", reads, "$-1\n", "", tally{}, "invalid line ending"},
			{"value without its end", reads, "$30\r\n" + value30(1) + "xx", "", tally{}, "followed by"},
			{"endless line", reads, strings.Repeat("-", longestLine), "", tally{}, "unterminated line"},
		},
		"memcached": {
			{"reads", reads, "VALUE plimsoll:0000000001 0 30\r\n" + value30(1) + "\r\nEND\r\nVALUE plimsoll:0000000002 0 30\r\n" + value30(2) + "\r\nEND\r\n", "0 with 30, 1 with 30", tally{reads: 2}, ""},
			{"miss", reads, "END\r\nVALUE plimsoll:0000000002 4294967295 30\r\n" + value30(2) + "\r\nEND\r\n", "0 with 0, 1 with 30", tally{reads: 2, misses: 1}, ""},
			{"writes", writes, "STORED\r\nSTORED\r\n", "0 with 30, 1 with 30", tally{}, ""},
			{"removes", removes, "DELETED\r\nNOT_FOUND\r\n", "0 with 0, 1 with 0", tally{}, ""},
			{"refused", writes, "SERVER_ERROR out of memory storing object\r\nNOT_STORED\r\n", "0 failed, 1 failed", tally{refused: 2, why: "SERVER_ERROR out of memory storing object"}, ""},
			{"not understood", reads, "ERROR\r\nCLIENT_ERROR line format\r\n", "0 failed, 1 failed", tally{refused: 2, why: "ERROR"}, ""},
			{"another key", reads[:1], "VALUE plimsoll:0000000002 0 30\r\n" + value30(1) + "\r\nEND\r\n", "0 failed", tally{wrong: 1}, ""},
			{"value of another key", reads[:1], "VALUE plimsoll:0000000001 0 30\r\n" + value30(2) + "\r\nEND\r\n", "0 failed", tally{wrong: 1}, ""},
			{"another protocol", reads, "-ERR unknown command\r\n", "", tally{}, "does not speak memcached"},
			{"no such error", reads, "ERRORS\r\n", "", tally{}, "does not speak memcached"},
			{"value for a write", writes, "VALUE plimsoll:0000000001 0 30\r\n", "", tally{}, "another request"},
			{"end for a write", writes, "END\r\n", "", tally{}, "another request"},
			{"stored for a read", reads, "STORED\r\n", "", tally{}, "another request"},
			{"short value line", reads, "VALUE plimsoll:0000000001 30\r\n", "", tally{}, "does not speak memcached"},
			{"odd flags", reads, "VALUE plimsoll:0000000001 x 30\r\n", "", tally{}, "does not speak memcached"},
			{"huge size", reads, "VALUE plimsoll:0000000001 0 9999999999\r\n", "", tally{}, "more than any stores"},
			{"second value", reads, "VALUE plimsoll:0000000001 0 30\r\n" + value30(1) + "\r\nVALUE plimsoll", "", tally{}, "followed by"},
		},
	}
}

// Each case is heard in one piece, then byte by byte, then cut in two at every place.
func TestAnswers(t *testing.T) {
	for name, cases := range talkCases() {
		for _, c := range cases {
			t.Run(name+" "+c.name, func(t *testing.T) {
				wire := []byte(c.wire)
				c.hear(t, name, wire)
				c.hear(t, name, slices.Collect(slices.Chunk(wire, 1))...)
				for at := range wire {
					if len(wire) > 1000 && at%97 != 0 {
						continue
					}
					c.hear(t, name, wire[:at], wire[at:])
				}
			})
		}
	}
}

func (c talkCase) hear(t *testing.T, name string, pieces ...[]byte) {
	t.Helper()
	talk := newTalk(grammars[name], newDataset(mustBands(t, "30B"), 1), &script{operations: c.ask}, 8)
	for slot := range c.ask {
		talk.Request(nil, slot)
	}
	ends, rest, err := hear(t, talk, pieces...)
	if got := strings.Join(ends, ", "); got != c.want {
		t.Errorf("%d pieces: ended %q, want %q", len(pieces), got, c.want)
	}
	want := c.tally
	want.deepest = len(c.ask)
	if *talk.tally != want {
		t.Errorf("%d pieces: counted %+v, want %+v", len(pieces), *talk.tally, want)
	}
	if c.err == "" && (err != nil || len(rest) > 0) {
		t.Errorf("%d pieces: %v, %q left", len(pieces), err, rest)
	}
	if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
		t.Errorf("%d pieces: error %v, want %q", len(pieces), err, c.err)
	}
}

// A large value is used as it comes, so that nobody has to hold it.
func TestLargeValuesAreStreamed(t *testing.T) {
	const size = 3<<20 + 17
	d := newDataset(mustBands(t, "3145745B"), 1)
	talk := newTalk(redis{}, d, &script{operations: []operation{{key: 77, verb: read}}}, 1)
	talk.Request(nil, 0)
	var text keyText
	wire := fmt.Appendf(nil, "$%d\r\n", size)
	wire = append(d.add(wire, 77, text.text(77), stamp{}), lineEnd...)
	source := rand.New(rand.NewPCG(1, 1))
	for len(wire) > 0 {
		piece := wire[:min(len(wire), 10+source.IntN(100_000))]
		a, used, err := talk.Answer(piece)
		if err != nil || used != len(piece) {
			t.Fatalf("used %d of %d: %v", used, len(piece), err)
		}
		wire = wire[used:]
		if last := len(wire) == 0; (a.Slot == 0) != last || last && (a.Bytes != size || a.Failed) {
			t.Fatalf("%d bytes before the end: %+v", len(wire), a)
		}
	}
	if *talk.tally != (tally{reads: 1, deepest: 1}) {
		t.Errorf("counted %+v", *talk.tally)
	}
}

// Whatever the window and however answers are cut, each ends the oldest request, for
// as long as one likes.
func TestAnswersComeInOrder(t *testing.T) {
	for name, g := range grammars {
		d := newDataset(mustBands(t, "1B/30:40B/30:300B/40"), 9)
		source := rand.New(rand.NewPCG(5, 5))
		ask := &script{}
		for range 50 {
			ask.operations = append(ask.operations, operation{key: source.Int64N(1000), verb: verb(source.IntN(3))})
		}
		window := 7
		talk := newTalk(g, d, ask, window)
		var wire []byte
		var outstanding []operation
		slot := 0
		for range 5000 {
			if len(outstanding) < window && source.IntN(2) == 0 {
				o := ask.operations[ask.next%len(ask.operations)]
				o.slot = slot
				talk.Request(nil, slot)
				outstanding = append(outstanding, o)
				wire = append(wire, told(name, d, o)...)
				slot = (slot + 1) % window
			}
			data := wire[:min(len(wire), source.IntN(400))]
			a, used, err := talk.Answer(data)
			if err != nil {
				t.Fatal(err)
			}
			wire = wire[used:]
			if a.Slot == load.NoSlot {
				continue
			}
			o := outstanding[0]
			outstanding = outstanding[1:]
			want := int64(d.size(o.key))
			if o.verb == remove {
				want = 0
			}
			if a.Slot != o.slot || a.Failed || a.Bytes != want {
				t.Fatalf("%s: %+v is answered %+v", name, o, a)
			}
		}
	}
}

// told is what a server tells that holds everything.
func told(protocol string, d *dataset, o operation) []byte {
	var text keyText
	key := text.text(o.key)
	value := d.add(nil, o.key, key, stamp{})
	if protocol == "redis" {
		return [][]byte{fmt.Appendf(nil, "$%d\r\n%s\r\n", len(value), value), []byte("+OK\r\n"), []byte(":1\r\n")}[o.verb]
	}
	return [][]byte{fmt.Appendf(nil, "VALUE %s 0 %d\r\n%s\r\nEND\r\n", key, len(value), value), []byte("STORED\r\n"), []byte("DELETED\r\n")}[o.verb]
}

func TestTalkAllocatesNothing(t *testing.T) {
	for name, g := range grammars {
		d := newDataset(mustBands(t, "1B/30:40B/30:300B/40"), 9)
		ask := &script{operations: []operation{{key: 1, verb: read}, {key: 2, verb: write}, {key: 3, verb: read}, {key: 4, verb: remove}}}
		talk := newTalk(g, d, ask, 4)
		buffer := make([]byte, 0, 4096)
		var wire []byte
		for _, o := range ask.operations {
			wire = append(wire, told(name, d, o)...)
		}
		allocated := testing.AllocsPerRun(1000, func() {
			b := buffer
			for slot := range 4 {
				b, _ = talk.Request(b, slot)
			}
			for data := wire; len(data) > 0; {
				_, used, err := talk.Answer(data)
				if used == 0 || err != nil {
					t.Fatal(used, err)
				}
				data = data[used:]
			}
		})
		if allocated != 0 {
			t.Errorf("%s: %g allocations for four operations", name, allocated)
		}
	}
}

// FuzzAnswer holds a dialogue to its contract whatever the peer sends, and wants the
// same answers however it is cut.
func FuzzAnswer(f *testing.F) {
	for name, cases := range talkCases() {
		for _, c := range cases {
			f.Add(name == "redis", []byte(c.wire), uint16(3))
		}
	}
	d := newDataset([]band{{30, 1, 100}}, 1)
	f.Fuzz(func(t *testing.T, isRedis bool, wire []byte, cut uint16) {
		name := "memcached"
		if isRedis {
			name = "redis"
		}
		var heard [3]string
		size := 1 + int(cut)%50
		for i, pieces := range [][][]byte{{wire}, slices.Collect(slices.Chunk(wire, size)), slices.Collect(slices.Chunk(wire, 1))} {
			ask := &script{operations: []operation{{key: 1, verb: read}, {key: 1, verb: write}, {key: 2, verb: read}, {key: 2, verb: remove}}}
			talk := newTalk(grammars[name], d, ask, 64)
			for slot := range 64 {
				talk.Request(nil, slot)
			}
			ends, rest, err := hear(t, talk, pieces...)
			if err == nil && len(rest) >= longestLine {
				t.Fatalf("%d bytes are kept, and nothing is said about them", len(rest))
			}
			wrong := ""
			if err != nil {
				wrong = "error" // its excerpt depends on what had come
			}
			heard[i] = fmt.Sprint(ends, *talk.tally, wrong)
		}
		if heard[0] != heard[1] || heard[0] != heard[2] {
			t.Fatalf("cut differently, %q is heard as\n%s\n%s\n%s", wire, heard[0], heard[1], heard[2])
		}
	})
}

func BenchmarkTalk(b *testing.B) {
	for name, g := range grammars {
		b.Run(name, func(b *testing.B) {
			d := newDataset([]band{{1024, 1, 100}}, 9)
			talk := newTalk(g, d, &script{operations: []operation{{key: 3, verb: read}}}, 1)
			wire := told(name, d, operation{key: 3, verb: read})
			buffer := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				talk.Request(buffer, 0)
				if a, _, err := talk.Answer(wire); err != nil || a.Failed {
					b.Fatal(a, err)
				}
			}
		})
	}
}
