package cqliot

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/workload/cqliot/driver"
)

// The vectors were made from the published functions by another program: see
// testdata/vectors.py.
func TestKeysOfThePublishedWorkload(t *testing.T) {
	p := defaults()
	p.Mode = faithful
	r, err := newReadings(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		var cycle, h, at, word, size, from int64
		var machine, station string
		var value float64
		if _, err := fmt.Sscan(line, &cycle, &h, &machine, &word, &at, &value, &station, &size, &from); err != nil {
			t.Fatal(err)
		}
		n++
		k := r.key(cycle)
		s := r.station(cycle)
		if k.hash != h || hex.EncodeToString(k.machine[:]) != machine || hex.EncodeToString(s[:]) != station || k.sensor != r.words[word] || r.time(cycle) != at {
			t.Errorf("cycle %d is %d %x %s %d %x, not %s", cycle, k.hash, k.machine, k.sensor, r.time(cycle), s, line)
		}
		if got := r.value(h); got != value {
			t.Errorf("the value of cycle %d is %v, not %v", cycle, got, value)
		}
		if got := r.data(h); int64(len(got)) != size || string(got) != string(r.text[from:from+size]) {
			t.Errorf("the data of cycle %d has %d bytes, not %d from %d on", cycle, len(got), size, from)
		}
	}
	if n < 20 {
		t.Errorf("there are %d vectors", n)
	}
}

func TestStandInsHaveThePublishedSizes(t *testing.T) {
	words := map[string]bool{}
	for _, w := range ourWords() {
		words[w] = true
	}
	if len(words) != 100 || len(ourText()) != 92_818 {
		t.Errorf("%d words, %d bytes of text", len(words), len(ourText()))
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	p := defaults()
	p.Words, p.Text = file("words", "one\ntwo\nthree\n"), file("text", strings.Repeat("x", 2000))
	r, err := newReadings(p, 0)
	if err != nil || len(r.words) != 3 || len(r.text) != 2000 {
		t.Errorf("got %d words, %d bytes, %v", len(r.words), len(r.text), err)
	}
	for _, c := range []struct{ words, text, want string }{
		{"", file("short", "x"), "must hold more than"}, {"", file("foreign", strings.Repeat("ä", 2000)), "all of ASCII"},
		{file("none", ""), "", "is empty"}, {filepath.Join(dir, "absent"), "", "read words"}, {"", filepath.Join(dir, "absent"), "read text"},
	} {
		p.Words, p.Text = c.words, c.text
		if _, err := newReadings(p, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v gives %v", c, err)
		}
	}
}

func dealing(t *testing.T, settings parameter.Settings, nodes ring) *cycleQueue {
	t.Helper()
	l, err := Kind(driver.Open).New(settings)
	if err != nil {
		t.Fatal(err)
	}
	i := l.(*iot)
	r, err := newReadings(i.Parameters, 0)
	if err != nil {
		t.Fatal(err)
	}
	return newDealer(i, r, newDispenser(i.Parameters), newChart(nodes))
}

// In mode faithful each tenth cycle reads, at cycles to whose machines nothing is
// written; the parts of several machines make up the whole.
func TestFaithfulCycles(t *testing.T) {
	seen := map[int64]int{}
	for _, part := range []string{"1", "2", "3"} {
		d := dealing(t, parameter.Settings{"mode": "faithful", "first": "40", "parts": "3", "part": part}, ring{})
		for range 1000 {
			o, _ := d.deal(0)
			seen[o.cycle]++
			if (o.verb == read) != (o.cycle%10 == 0) {
				t.Fatalf("cycle %d does %d", o.cycle, o.verb)
			}
		}
	}
	for c := int64(40); c < 3040; c++ {
		if seen[c] != 1 {
			t.Fatalf("cycle %d comes %d times", c, seen[c])
		}
	}
}

// In mode sound, reads ask for what was written, and as often as they should.
func TestSoundCycles(t *testing.T) {
	d := dealing(t, parameter.Settings{"rampup": "1000", "connections": "1", "in_flight": "2"}, ring{})
	reads, of, late := 0, 30_000, 0
	for range of {
		o, _ := d.deal(0)
		if o.verb == write {
			if o.cycle < 1000 {
				t.Fatalf("cycle %d of the ramp-up is written again", o.cycle)
			}
			continue
		}
		reads++
		if o.cycle >= 1000 {
			late++
			if d.iot.verb(o.cycle) != write || o.cycle >= d.at-stride {
				t.Fatalf("at cycle %d, %d is read, which may not be there", d.at, o.cycle)
			}
		}
	}
	if reads < of/10-300 || reads > of/10+300 || late == 0 {
		t.Errorf("%d of %d cycles read, %d of them what the trial wrote", reads, of, late)
	}
}

// Each node gets the cycles whose rows it holds, and every cycle is dealt once.
func TestTokens(t *testing.T) {
	nodes, err := newRing([]string{"-9223372036854775808", "-3074457345618258604,17", "3074457345618258600"})
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[int64]int{math.MinInt64: 0, -5e18: 1, -3074457345618258604: 1, -1: 1, 17: 1, 18: 2, 5e18: 0, math.MaxInt64: 0} {
		if got := nodes.owner(token); got != want {
			t.Errorf("token %d is of node %d, not %d", token, got, want)
		}
	}
	if nodes.node("3074457345618258600") != 2 || nodes.node("1") != -1 {
		t.Error("a node is not known by its tokens")
	}
	d := dealing(t, parameter.Settings{"mode": "faithful"}, nodes)
	seen := map[int64]bool{}
	for n := range 30_000 {
		node := n % 3
		o, here := d.deal(node)
		if seen[o.cycle] {
			t.Fatalf("cycle %d is dealt twice", o.cycle)
		}
		seen[o.cycle] = true
		if here && nodes.owner(o.key.token(nil)) != node {
			t.Fatalf("cycle %d goes to node %d, which does not hold it", o.cycle, node)
		}
	}
	// A node that takes nothing has others do its cycles.
	elsewhere := 0
	for range 60_000 {
		if _, here := d.deal(0); !here {
			elsewhere++
		}
	}
	if elsewhere == 0 {
		t.Error("cycles of nodes that take none wait for ever")
	}
	if _, err := newRing([]string{"nonsense"}); err == nil {
		t.Error("tokens that are none pass")
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"rate": "5/s", "think": "1s"}, "rate and think"}, {parameter.Settings{"read_ratio": "0", "write_ratio": "0"}, "nothing would be done"},
		{parameter.Settings{"part": "2"}, "part 2 of 1"}, {parameter.Settings{"connections": "10000", "in_flight": "1000"}, "may be outstanding"},
		{parameter.Settings{"rampup": "0"}, "give a rampup"},
	} {
		if _, err := Kind(driver.Open).New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
}
