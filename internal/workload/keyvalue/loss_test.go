package keyvalue

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// What a store loses or mixes up is found, in both protocols.
func TestEvilStores(t *testing.T) {
	for i, c := range []struct {
		vice, share, read, value, want string
	}{
		{"lose", "1%", "50%", "256B", "had replaced (lost overwrites)"},
		{"lose", "1%", "50%", "16B", "had replaced (lost overwrites)"},
		{"lose", "1%", "0%", "256B", "had replaced (lost overwrites)"}, // found by what is read after the load
		{"swap", "1%", "90%", "100B", "returned a wrong value"},
		{"tear", "1%", "50%", "100B", "returned a wrong value"},
		{"forget", "0.1%", "50%", "256B", "keys are missing, and the store counts only 0 evictions"},
		{"", "", "50%", "256B", ""}, {"", "", "0%", "1B/30:16B/30:300B/40", ""},
	} {
		protocols := []string{"redis", "memcached"}
		if i%2 > 0 {
			protocols = []string{"memcached", "redis"}
		}
		for _, protocol := range loadtest.First(1, protocols) {
			t.Run(protocol+" "+c.vice+" "+c.value+" "+c.read, func(t *testing.T) {
				t.Parallel()
				s := responding(t, nil)
				settings := parameter.Settings{"protocol": protocol, "keys": "2000", "value": c.value, "read": c.read, "connections": "8", "pipeline": "4"}
				prepare(t, s, settings)
				if c.vice != "" { // what fills it would find it out
					s = evil(t, c.vice, c.share)
					settings["fill"], settings["misses"] = "false", "100%"
					prepare(t, s, settings)
				}
				r := runFor(t, s, settings, 10_000)
				data := r.checks["data"]
				if c.vice == "" {
					if data.State != measure.Pass {
						t.Errorf("an honest store: %+v", data)
					}
					return
				}
				if data.State != measure.Fail || data.Kind != measure.KindData || !strings.Contains(data.Detail, c.want) {
					t.Errorf("%+v", data)
				}
			})
		}
	}
}

func evil(t *testing.T, vice, share string) store {
	return responding(t, parameter.Settings{vice: share})
}

// Whatever goes wrong on the way to an honest store, and however many write a key at once,
// it is not accused.
func TestHonestStoresAreNotAccused(t *testing.T) {
	rounds := 3
	if !loadtest.Whole() {
		rounds = 1
	}
	for _, fault := range []string{"", "fail", "reset", "half_close", "garbage"} {
		for _, protocol := range []string{"redis", "memcached"} {
			t.Run(protocol+" "+fault, func(t *testing.T) {
				t.Parallel()
				s := responding(t, nil)
				if fault != "" {
					s = evil(t, fault, "0.5%")
				}
				settings := parameter.Settings{
					"protocol": protocol, "keys": "3", "value": "64B", "read": "50%", "connections": "16", "pipeline": "8", "timeout": "200ms",
					"fill": "false", "misses": "100%", "threads": "2",
				}
				prepareAnyway(t, s, settings)
				for range rounds {
					data := runAnyway(t, s, settings).checks["data"]
					if data.State == measure.Fail {
						t.Errorf("%+v", data)
					}
				}
			})
		}
	}
}

// prepareAnyway and runAnyway try again where the fault meets what is not measured.
func prepareAnyway(t *testing.T, s store, settings parameter.Settings) {
	t.Helper()
	var err error
	for range 50 {
		if err = made(t, settings).Prepare(t.Context(), s.env()); err == nil {
			return
		}
	}
	t.Fatal(err)
}

func runAnyway(t *testing.T, s store, settings parameter.Settings) ran {
	t.Helper()
	for {
		out := measure.NewRecorder(nil)
		err := made(t, settings).Run(t.Context(), s.env(), load.Stage{Length: loadtest.Short(80 * time.Millisecond), Interval: 10 * time.Millisecond, Seed: 2}, out)
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		if err != nil {
			continue
		}
		r := ran{Recorder: out, checks: map[string]measure.Check{}}
		for _, c := range out.Checks() {
			r.checks[c.Name] = c
		}
		return r
	}
}
