package keyvalue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/parameter"
)

// What the store holds after Prepare, between settings that share a store, and after
// Clean.
func TestFill(t *testing.T) {
	s := responding(t, nil)
	for _, protocol := range []string{"redis", "memcached"} {
		foreign := map[string]string{"redis": "SET other 1", "memcached": "set other 0 0 1\r\n1"}[protocol]
		s.says(t, protocol, foreign, "\r\n")
		for _, c := range []struct {
			settings parameter.Settings
			want     string // keys: ours, the marker, and the other
		}{
			{parameter.Settings{"keys": "1000"}, "1002"},
			{parameter.Settings{"keys": "1000"}, "1002"},
			{parameter.Settings{"keys": "10"}, "12"},
			{parameter.Settings{"keys": "3001", "value": "1B/50:64KiB/50"}, "3003"},
			{parameter.Settings{"keys": "500", "fill": "false"}, "2"},
			{parameter.Settings{"keys": "1"}, "3"},
		} {
			c.settings["protocol"] = protocol
			prepare(t, s, c.settings)
			if got := s.keys(t, protocol); got != c.want {
				t.Errorf("%v: %s keys, want %s", c.settings, got, c.want)
			}
		}
		for range 2 {
			if err := made(t, parameter.Settings{"protocol": protocol, "keys": "7"}).Clean(t.Context(), s.env()); err != nil {
				t.Fatal(err)
			}
			if got := s.keys(t, protocol); got != "1" {
				t.Errorf("%s keys of %s after Clean, want the other alone", got, protocol)
			}
		}
	}
}

// A store that was restarted, or lost something, is filled again; one that was not, is
// left as it is.
func TestFillIsDoneOnce(t *testing.T) {
	s := responding(t, nil)
	settings := parameter.Settings{"keys": "2000"}
	prepare(t, s, settings)
	before := s.requests(t)
	prepare(t, s, settings)
	if n := s.requests(t) - before; n > 600 {
		t.Errorf("%d requests to find the work done", n)
	}
	s.says(t, "redis", "DEL plimsoll:0000000004", "\r\n") // one that the sample looks at
	prepare(t, s, settings)
	if got := s.keys(t, "redis"); got != "2001" {
		t.Errorf("%s keys after one was lost", got)
	}
	s.says(t, "redis", "SET plimsoll:0000000008 rubbish", "\r\n")
	prepare(t, s, settings)
	if got := s.says(t, "redis", "GET plimsoll:0000000008", "\r\n"); got != "$256\r\n" {
		t.Errorf("a spoiled value stays: %s", got)
	}
	s.says(t, "redis", "FLUSHALL", "\r\n")
	prepare(t, s, settings)
	if got := s.keys(t, "redis"); got != "2001" {
		t.Errorf("%s keys after the store was emptied", got)
	}
	// A cache may forget the marker first.
	s.says(t, "redis", "DEL "+markerKey, "\r\n")
	if err := made(t, settings).Clean(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
	if got := s.keys(t, "redis"); got != "0" {
		t.Errorf("%s keys are left without the marker", got)
	}
}

func TestFillThatFails(t *testing.T) {
	s := answering(t, func(line string) string {
		switch {
		case line == "version":
			return "VERSION 1\r\n"
		case strings.HasPrefix(line, "get "):
			return "END\r\n"
		case strings.HasPrefix(line, "{"):
			return "STORED\r\n"
		case strings.HasPrefix(line, "set "):
			return ""
		}
		return "SERVER_ERROR out of memory storing object\r\n"
	})
	settings := parameter.Settings{"protocol": "memcached", "keys": "200", "value": "5B"}
	if err := made(t, settings).Prepare(t.Context(), s.env()); err == nil || !strings.Contains(err.Error(), "it refused 200 of 200 values: SERVER_ERROR out of memory") {
		t.Errorf("got %v", err)
	}
	f := &filler{load: &keyvalue{Parameters: Parameters{Keys: 100, Misses: .5}, bands: []band{{1024, 1, 100}}}}
	for want, got := range map[string]tally{
		"51 of 100 keys are gone after they were written: give the store more memory than the 100KiB of the values": {reads: 100, misses: 51},
		"1 of 100 keys have other values than written":                                                              {reads: 99, wrong: 1},
		"it refused 1 of 100 reads: -LOADING":                                                                       {reads: 99, refused: 1, why: "-LOADING"},
	} {
		if err := f.whole(got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", got, err, want)
		}
	}
	if err := f.whole(tally{reads: 100, misses: 50}); err != nil {
		t.Errorf("what may be missing is: %v", err)
	}
}

// A fill that is cancelled ends at once, also when the store has stopped to answer.
func TestFillIsCancelled(t *testing.T) {
	stuck := answering(t, func(line string) string {
		switch {
		case line == "version":
			return "VERSION 1\r\n"
		case strings.HasPrefix(line, "get "):
			return "END\r\n"
		case strings.HasPrefix(line, "{"):
			return "STORED\r\n"
		}
		return ""
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := made(t, parameter.Settings{"protocol": "memcached", "keys": "1000"}).Prepare(ctx, stuck.env())
	if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 2*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
}
