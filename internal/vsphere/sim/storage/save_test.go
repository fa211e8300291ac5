package storage

import (
	"bytes"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"

	"plimsoll/internal/cluster/policy"
)

func restored(saved []byte) (*PolicyManager, error) {
	return New(simulator.NewRegistry(), Options{Now: time.Now, Saved: saved})
}

// Whatever a file holds is taken over or refused, and what is taken over can be judged.
func FuzzRestore(f *testing.F) {
	d, err := restored(nil)
	if err != nil {
		f.Fatal(err)
	}
	d.set("vm-1", "2000", d.profiles.list[0].ProfileId.UniqueId)
	text, err := d.Save()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(bytes.ReplaceAll(text, []byte("xsd:int"), []byte("xsd:dateTime")))
	f.Add([]byte("<policies><object><vm>a</vm><profile>b</profile></object></policies>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := restored(text)
		if err != nil {
			return
		}
		inv := &policy.Inventory{Policies: d.profiles.policies()}
		if err := inv.Validate(); err != nil {
			t.Errorf("%v in %q", err, text)
		}
		again, err := d.Save()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := restored(again); err != nil {
			t.Errorf("what was saved is refused: %v", err)
		}
	})
}
