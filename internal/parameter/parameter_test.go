package parameter

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

type sample struct {
	Threads int      `name:"threads" doc:"workers" min:"1" max:"64"`
	Block   Bytes    `name:"block" doc:"size" min:"512B"`
	Read    Share    `name:"read" doc:"share of reads"`
	Rate    Rate     `name:"rate" doc:"offered"`
	Window  Duration `name:"window" doc:"time"`
	embedded
	Direct  bool     `name:"direct" doc:"bypass the page cache"`
	Targets []string `name:"targets" doc:"where"`
	Skew    float64  `name:"skew" doc:"exponent"`
}

type embedded struct {
	Engine string `name:"engine" doc:"engine" choices:"psync,libaio"`
}

func defaults() *sample {
	return &sample{Threads: 1, Block: 4096, embedded: embedded{Engine: "psync"}, Direct: true}
}

func TestDecode(t *testing.T) {
	s := defaults()
	err := Decode(s, Settings{"threads": "8", "block": "64KiB", "read": "70%", "rate": "300/min", "window": "1m30s",
		"engine": "libaio", "direct": "false", "targets": `["/a,b","/c"]`, "skew": "0.99"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Threads != 8 || s.Block != 65536 || s.Read != 0.7 || s.Rate != 5 || time.Duration(s.Window) != 90*time.Second ||
		s.Engine != "libaio" || s.Direct || len(s.Targets) != 2 || s.Targets[0] != "/a,b" || s.Skew != 0.99 {
		t.Fatalf("decoded %+v", s)
	}
}

func TestAnEmbeddingDocumentsPromotedFields(t *testing.T) {
	type lender struct {
		First  int `name:"first" doc:"of all" min:"1"`
		Second int `name:"second" doc:"of two"`
		Third  int `name:"third" doc:"of three"`
	}
	type borrower struct {
		Before int `name:"before" doc:"its own"`
		lender `first:"of these" second:"-"`
	}
	b := &borrower{lender: lender{First: 7}}
	want := []Field{
		{Name: "before", Doc: "its own", Kind: KindInteger, Default: "0"},
		{Name: "first", Doc: "of these", Kind: KindInteger, Default: "7", Min: "1"},
		{Name: "third", Doc: "of three", Kind: KindInteger, Default: "0"},
	}
	if got := Fields(b); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if err := Decode(b, Settings{"before": "1", "first": "2", "third": "3"}); err != nil || b.Before != 1 || b.First != 2 || b.Third != 3 {
		t.Errorf("decoded %+v, %v", b, err)
	}
	var u *UnknownError
	if err := Decode(b, Settings{"second": "1"}); !errors.As(err, &u) {
		t.Errorf("what is left out is taken: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"threads", "0", "at least 1"},
		{"threads", "65", "at most 64"},
		{"threads", "two", "whole number"},
		{"block", "4096", "size with its unit"},
		{"block", "100B", "at least 512B"},
		{"block", "1e30TiB", "size with its unit"},
		{"read", "0.7", "percentage"},
		{"read", "101%", "percentage"},
		{"read", "NaN%", "percentage"},
		{"rate", "0/s", "a rate"},
		{"window", "10", "time with its unit"},
		{"window", "-1s", "time with its unit"},
		{"engine", "sync", "one of psync, libaio"},
		{"direct", "yes", "true or false"},
		{"skew", "NaN", "a number"},
		{"targets", "[1]", "list of texts"},
	} {
		err := Decode(defaults(), Settings{c.name: c.text})
		var v *valueError
		if !errors.As(err, &v) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%q: got %v, want %q", c.name, c.text, err, c.want)
		}
	}
	var u *UnknownError
	if err := Decode(defaults(), Settings{"thread": "1"}); !errors.As(err, &u) || u.Nearest != "threads" {
		t.Errorf("thread: got %v", err)
	}
}

func TestCanonicalTextSurvivesReading(t *testing.T) {
	for _, f := range Fields(defaults()) {
		if f.Default == "" {
			continue
		}
		if got, err := f.Check(f.Default); err != nil || got != f.Default {
			t.Errorf("%s: %q reads as %q, %v", f.Name, f.Default, got, err)
		}
	}
	for text, want := range map[string]string{"1024MiB": "1GiB", "1.5KiB": "1536B", "1000kB": "1MB", "10MB": "10MB", "200kB": "200kB", "2000KiB": "2000KiB", "1000KiB": "1000KiB", "1GB": "1GB", "1000B": "1kB", "999B": "999B", "0B": "0B"} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || b.String() != want {
			t.Errorf("%s reads as %s, %v", text, b, err)
		}
	}
}

func TestAbout(t *testing.T) {
	for n, want := range map[Bytes]string{0: "0B", 999: "999B", 1024: "1.00KiB", 1168850688: "1.09GiB", 3970 << 20: "3.88GiB", 25276530688: "23.5GiB", 178994944: "171MiB", 1 << 50: "1024TiB"} {
		if got := n.About(); got != want {
			t.Errorf("%d is about %s, want %s", int64(n), got, want)
		}
	}
}

func TestQuantitiesSurviveJSON(t *testing.T) {
	type quantities struct {
		B Bytes
		S Share
		R Rate
		D Duration
	}
	in := quantities{512 << 20, .335, 2.5, Duration(90 * time.Second)}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out quantities
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("%s reads as %+v, %v", text, out, err)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"threads", "block", "read", "read_ahead", "window"}
	for name, want := range map[string]string{"thread": "threads", "bolck": "block", "read-ahead": "read_ahead", "Window": "window", "compression": "", "x": ""} {
		if got := Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzQuantities(f *testing.F) {
	for _, s := range []string{"4KiB", "70%", "5000/s", "10s", "-1", "", "1e999TiB", "[]", "NaN%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, field := range Fields(defaults()) {
			first, err := field.Check(text)
			if err != nil {
				continue
			}
			if again, err := field.Check(first); err != nil || again != first {
				t.Errorf("%s: %q reads as %q, which reads as %q, %v", field.Kind, text, first, again, err)
			}
		}
	})
}
