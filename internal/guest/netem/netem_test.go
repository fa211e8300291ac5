package netem

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func onLittleEndian(t testing.TB) {
	if order.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the known bytes are those of a machine with the lowest byte first")
	}
}

// The bytes are those sent by tc of iproute2 6.1, recorded with strace.
func TestMessagesAreThoseOfTC(t *testing.T) {
	onLittleEndian(t)
	const (
		subject = "00000000" + "01000000" + "00000000" + "ffffffff" + "00000000"
		name    = "0a000100" + "6e6574656d000000"
	)
	for _, test := range []struct {
		command string
		got     []byte
		want    string
	}{
		{"netem delay 25ms",
			replaceMessage(1, Settings{Delay: 25 * time.Millisecond, Limit: 1000}),
			"4c000000" + "2400" + "0505" + "00000000" + "00000000" + subject + name +
				"1c000200" + "e1f50500e8030000" + strings.Repeat("00", 16)},
		{"qdisc del", deleteMessage(1), "24000000" + "2500" + "0500" + "00000000" + "00000000" + subject},
		{"qdisc show", readMessage(1), "24000000" + "2600" + "0103" + "00000000" + "00000000" + subject},
	} {
		if got := hex.EncodeToString(test.got); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.command, got, test.want)
		}
	}
}

// Settings are read back to the kernel's precision.
func TestSettingsSurvive(t *testing.T) {
	for _, s := range []Settings{
		{Limit: 1}, {Delay: time.Nanosecond, Limit: 7}, {Delay: 100 * time.Second, Limit: DefaultLimit},
		{Delay: 1234567 * time.Nanosecond, Limit: 1000}, {Limit: math.MaxUint32},
	} {
		got, ok, err := parse(replaceMessage(3, s)[headSize:], 3)
		if err != nil || !ok || got.Root != kind || got.Netem == nil || got.Default || got.Foreign {
			t.Errorf("%+v gives %+v, %v, %v", s, got, ok, err)
			continue
		}
		if *got.Netem != s {
			t.Errorf("%+v is read as %+v", s, *got.Netem)
		}
		if _, ok, _ := parse(replaceMessage(3, s)[headSize:], 4); ok {
			t.Error("another link's emulator is taken for this one's")
		}
	}
}

func TestForeignSettingsAreSeen(t *testing.T) {
	plain := make([]byte, optionsSize)
	with := func(at int) []byte {
		b := bytes.Clone(plain)
		b[at] = 1
		return b
	}
	for name, test := range map[string]struct {
		options []byte
		want    bool
	}{
		"plain":                 {plain, false},
		"loss":                  {with(8), true},
		"a gap, which is fine":  {with(12), false},
		"duplicates":            {with(16), true},
		"jitter":                {with(20), true},
		"fine jitter":           {attribute(plain, netemJitter64, []byte{1, 0, 0, 0, 0, 0, 0, 0}), true},
		"a rate":                {attribute(plain, netemRate, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), true},
		"no rate":               {attribute(plain, netemRate, make([]byte, 16)), false},
		"no correlation":        {attribute(plain, netemCorrelation, make([]byte, 12)), false},
		"correlation":           {attribute(plain, netemCorrelation, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), true},
		"reordering":            {attribute(plain, netemReorder, []byte{0, 1, 0, 0, 0, 0, 0, 0}), true},
		"corruption":            {attribute(plain, netemCorrupt, []byte{0, 1, 0, 0, 0, 0, 0, 0}), true},
		"model of loss":         {attribute(plain, netemLossModel|unix.NLA_F_NESTED, []byte{4, 0, 1, 0}), true},
		"slots":                 {attribute(plain, netemSlot, make([]byte, 40)), true},
		"overhead of each":      {attribute(plain, netemRate, []byte{1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), true},
		"a seed, which is fine": {attribute(plain, 14, make([]byte, 8)), false},
	} {
		var s Settings
		if foreign, err := s.parse(test.options); err != nil || foreign != test.want {
			t.Errorf("%s: foreign %v, %v", name, foreign, err)
		}
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	for _, s := range []Settings{{Delay: -1}, {Delay: time.Hour}} {
		if _, err := s.check(); err == nil || !strings.Contains(err.Error(), "must be from") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestOrders(t *testing.T) {
	for said, want := range map[string]string{
		"":                                     "read the job",
		"{}":                                   "must be read, set or remove",
		`{"do":"read","device":"lo"}`:          "unknown field",
		`{"do":"read","link":"no such link"}`:  "find the link",
		`{"do":"set","link":"no such link"}`:   "set the network emulator",
		`{"do":"remove","link":"../../../lo"}`: "find the link",
	} {
		if err := Serve(strings.NewReader(said), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", said, err, want)
		}
	}
	var out bytes.Buffer
	if err := Serve(bytes.NewReader(Order{Do: "read", Link: "lo"}.Line()), &out); err != nil || !strings.Contains(out.String(), `"link":"lo"`) {
		t.Errorf("lo: %s, %v", out.String(), err)
	}
}

// For any response of the kernel, parsing does not panic.
func FuzzAnswers(f *testing.F) {
	m := replaceMessage(1, Settings{Delay: time.Millisecond + 1, Limit: 4})
	f.Add(m)
	f.Add(append(bytes.Clone(m), deleteMessage(1)...))
	f.Add([]byte{20, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		_, _ = answers(b, 0, func(_ uint16, body []byte) error {
			n++
			s, ok, err := parse(body, 1)
			if ok && err == nil && (s.Root == kind) != (s.Netem != nil) {
				t.Errorf("%q is at the root and its settings are %v", s.Root, s.Netem)
			}
			return nil
		})
		if n > len(b)/headSize {
			t.Errorf("%d messages in %d bytes", n, len(b))
		}
	})
}
