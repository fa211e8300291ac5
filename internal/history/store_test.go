package history

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzCache decodes any file of the cache, and what is decoded was encoded.
func FuzzCache(f *testing.F) {
	whole, err := pack(kept{"/results", map[string]entry{"a": {Stamp: stamp{1, 2, 3}, Is: true, Run: Run{Study: "s", Started: time.Unix(1, 0).UTC(), Tags: []string{"x"}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(header(nil) + "\n"))
	f.Add([]byte(header([]byte("\x03\xff\xff")) + "\n\x03\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, ok := unpack(data)
		if !ok {
			return
		}
		again, err := pack(k)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := unpack(again); !ok || !cmp.Equal(k, other) {
			t.Errorf("%+v became %+v", k, other)
		}
	})
}

// Who changes what the cache holds raises its version, and this text.
func TestSchema(t *testing.T) {
	const want = "2: ID string, Folder string, Study string, Question string, Digest string, Started time.Time, Ended time.Time, State history.State, Trials int, Void int, " +
		"Verdict string, Answer string, Headlines []history.Headline, Testbed string, Machine string, Platform string, Workload string, Version string, Tags []string"
	got := fmt.Sprint(schema, ": ")
	for i, field := range reflect.VisibleFields(reflect.TypeFor[Run]()) {
		if i > 0 {
			got += ", "
		}
		got += fmt.Sprint(field.Name, " ", field.Type)
	}
	if got != want {
		t.Errorf("the cache holds %s", got)
	}
}
