package main_test

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/internal/catalog/subprocess"
	"plimsoll/internal/workload"
)

func none() []workload.Kind { return nil }

func TestOnlySubprocessesAreServed(t *testing.T) {
	for _, args := range [][]string{nil, {"run"}, {"worker", "now"}, {""}} {
		if ok, err := subprocess.Serve(args, none, strings.NewReader(""), &bytes.Buffer{}); ok || err != nil {
			t.Errorf("%q: %v, %v", args, ok, err)
		}
	}
}

func TestTheWorkerNamesWhatItLacks(t *testing.T) {
	var out bytes.Buffer
	ok, err := subprocess.Serve([]string{"worker"}, none, strings.NewReader(`{"workload":"nothing like it"}`), &out)
	if !ok || err != nil || !strings.Contains(out.String(), `does not contain workload \"nothing like it\"`) {
		t.Errorf("%v, %v, %q", ok, err, out.String())
	}
	if ok, err := subprocess.Serve([]string{"worker"}, none, strings.NewReader("no job"), &out); !ok || err == nil || !strings.HasPrefix(err.Error(), "worker: ") {
		t.Errorf("%v, %v", ok, err)
	}
}
