package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the tests see into testdata")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; with -update it becomes\n%s", file, got)
	}
}

func TestText(t *testing.T) {
	data, err := os.ReadFile("testdata/cluster.json")
	if err != nil {
		t.Fatal(err)
	}
	inv, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r := checked(t, inv).Report()
	var text bytes.Buffer
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "cluster.txt", text.Bytes())
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "cluster.report.json", append(out, '\n'))
}

func TestTextOfMany(t *testing.T) {
	inv := small()
	for i := range 30 {
		object := Object{Datastore: "bad", Policy: "two", Applied: 4}
		v := VM{Name: fmt.Sprintf("vm%02d", i), Home: object}
		object.Name = "d"
		v.Disks = []Object{object}
		inv.VMs = append(inv.VMs, v)
	}
	var text strings.Builder
	if err := checked(t, inv).Report().Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"policy two on bad, 60 objects", "vm07 home, disk d; and 22 more\n", "satisfied by: good\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

func TestTextOfNothing(t *testing.T) {
	var text strings.Builder
	if err := checked(t, &Inventory{}).Report().Text(&text); err != nil || !strings.Contains(text.String(), "Nothing to do") {
		t.Errorf("%v: %s", err, &text)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestTextSaysThatItCouldNotWrite(t *testing.T) {
	if err := new(Report).Text(full{}); err == nil {
		t.Error("nothing was written, and nothing said")
	}
}
