package foreign

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"plimsoll/internal/measure"
)

func TestLines(t *testing.T) {
	text := NewText(strings.NewReader("\xEF\xBB\xBFone\r\ntwo\nthree"))
	var got []string
	for text.Next() {
		got = append(got, text.Line())
	}
	if strings.Join(got, ",") != "one,two,three" || text.Err() != nil {
		t.Errorf("lines %q, %v", got, text.Err())
	}
	if err := text.Errorf("%q is odd", "x"); err.Error() != `line 3: "x" is odd` {
		t.Errorf("error %v", err)
	}
	text = NewText(strings.NewReader("\xFF\xFEa\x00\n\x00b"))
	for text.Next() {
	}
	if err := text.Err(); err == nil || !strings.Contains(err.Error(), "truncated UTF-16") {
		t.Errorf("half a character: %v", err)
	}
}

// endless is a file without an end, as long as the reader of it likes.
type endless struct{ text string }

func (e endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); n += copy(p[n:], e.text) {
	}
	return len(p), nil
}

func TestGarbageTakesBoundedMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := NewText(endless{"x"})
	for text.Next() {
		t.Fatal("a line without an end has ended")
	}
	if err := text.Err(); err == nil || !strings.Contains(err.Error(), "line 1 is longer than 16 MiB") {
		t.Errorf("a line without an end: %v", err)
	}
	if _, err := NewText(endless{"{\n"}).All(); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("a document without an end: %v", err)
	}
	text = NewText(io.LimitReader(endless{"garbage\n"}, 16<<20))
	lines := 0
	for text.Next() {
		lines++
	}
	runtime.ReadMemStats(&after)
	if lines != 2<<20 || text.Err() != nil {
		t.Errorf("%d lines, %v", lines, text.Err())
	}
	if most := after.HeapSys - before.HeapSys; after.HeapSys > before.HeapSys && most > 512<<20 {
		t.Errorf("%d MiB of memory", most>>20)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]float64{"12.5": 12.5, "0": 0, "1e3": 1000} {
		if v, err := Number(text); err != nil || v != want {
			t.Errorf("%s is %v, %v", text, v, err)
		}
	}
	for text, part := range map[string]string{"1,5": "decimal comma", "1.234,5": "decimal comma", "-1": "negative", "NaN": "possible", "Inf": "possible", "1e200": "possible", "x": "not a number", "": "not a number"} {
		if _, err := Number(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want %q", text, err, part)
		}
	}
	if _, err := Number(strings.Repeat("ä", 100)); err == nil || len(err.Error()) > 100 {
		t.Errorf("a long text: %v", err)
	}
	for text, want := range map[string]float64{"1.5ms": .0015, "250.00us": .00025, "1.00m": 60, "2h": 7200, "3s": 3} {
		if v, err := Seconds(text); err != nil || math.Abs(v-want) > 1e-12 {
			t.Errorf("%s is %v s, %v", text, v, err)
		}
	}
	if v, err := Bytes("1.5KB"); err != nil || v != 1536 {
		t.Errorf("1.5KB is %v, %v", v, err)
	}
	for _, text := range []string{"5", "5 parsecs", "-1s", "", "ms"} {
		if v, err := Seconds(text); err == nil {
			t.Errorf("%q is %v s", text, v)
		}
	}
	if n, err := Count("-1"); err == nil {
		t.Errorf("-1 events are %d", n)
	}
	if d := Duration(1e300); d <= 0 {
		t.Errorf("a long time is %v", d)
	}
	if n := Events(math.NaN()); n != 0 {
		t.Errorf("NaN events are %d", n)
	}
}

func TestClasses(t *testing.T) {
	r := NewRun("x")
	if p := r.Class("LPUSH, \n\"x\".y"); p != "lpush____x__y." {
		t.Errorf("prefix %q", p)
	}
	r.Values["operations"] = 1
	for i := range 100 {
		r.Class(fmt.Sprint("c", i))
	}
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "101 kinds") {
		t.Errorf("101 classes: %v", err)
	}
}

// A quantile needs ten response times above it.
func TestQuantilesNeedData(t *testing.T) {
	r := NewRun("x")
	r.Quantile("p99", 1, 999)
	r.Quantile("read.p99.9", 1, 9999)
	r.Quantile("p75", 1, 1e6)
	if len(r.Values) > 0 || len(r.Warnings) != 1 {
		t.Errorf("%+v", r)
	}
	r.Quantile("p99", 1, 1000)
	r.Quantile("read.p99.9", 2, 10000)
	if r.Values["p99"] != 1 || r.Values["read.p99.9"] != 2 {
		t.Errorf("%+v", r)
	}
}

func TestErrorsOfJSONNameTheLine(t *testing.T) {
	type document struct {
		A float64 `json:"a"`
	}
	for text, part := range map[string]string{
		"{\"a\":\n1": "line 2: truncated", "{\n\"a\":\n\"x\"}": "line 3: a is a JSON string", "{}\n{\n]": "line 3: invalid JSON", "": "empty", "[]": "the document is a JSON array", "{\"a\": NaN}": "line 1: invalid",
	} {
		if _, err := Documents[document](NewText(strings.NewReader(text))); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want %q", text, err, part)
		}
	}
	all, err := Documents[document](NewText(strings.NewReader("{\"a\":1}\n{\"a\":2}\n")))
	if err != nil || len(all) != 2 || all[1].A != 2 {
		t.Errorf("two documents: %+v, %v", all, err)
	}
}

// A histogram of another precision agrees with its values within its own precision.
func TestHistogramsOfOtherPrecision(t *testing.T) {
	head := hdrHeader{Digits: 2, Lowest: 1, Highest: 1e9, Ratio: 1}
	for _, c := range []struct {
		index int64
		from  float64
		to    float64
	}{{0, 0, 0}, {5, 5, 5}, {255, 255, 255}, {256, 256, 258}, {383, 510, 512}, {384, 512, 516}} {
		if v, ok := head.value(c.index); !ok || v < c.from || v > c.to {
			t.Errorf("counter %d is of %v, want between %v and %v", c.index, v, c.from, c.to)
		}
	}
	if _, ok := head.value(1 << 40); ok {
		t.Error("a counter beyond all values has a value")
	}
	h := measure.NewHistogram()
	h.Record(1234567, 7)
	text, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Histogram(string(text), 1)
	if err != nil || again.Count() != 7 || math.Abs(float64(again.Max())/1234567-1) > .002 {
		t.Errorf("our own histogram is read as %v, %v", again, err)
	}
}
