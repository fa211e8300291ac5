package owner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/workload/operations/management"
)

// platform has VMs and files, and removes what it is told to.
type platform struct {
	vms     []management.VM
	files   []string
	browse  error
	m       sync.Mutex // guards what follows
	deleted []string
}

func (p *platform) Survey(_ context.Context, prefix, mark string) (s management.Survey, err error) {
	for _, v := range p.vms {
		if strings.HasPrefix(v.Name, prefix) && management.Marked(v.Note, mark) {
			s.VMs = append(s.VMs, v)
		}
	}
	return s, nil
}

func (p *platform) Issue(_ context.Context, o management.Order) (string, error) {
	if o.Kind != management.Delete {
		return "", fmt.Errorf("%s was not expected", o.Kind)
	}
	p.m.Lock()
	defer p.m.Unlock()
	p.deleted = append(p.deleted, o.VM)
	return o.VM, nil
}

func (p *platform) Await(context.Context, string) (management.Outcome, error) {
	return management.Outcome{}, nil
}

func (p *platform) Close() error { return nil }

func (p *platform) Strays(context.Context, string) ([]string, error) { return p.files, p.browse }

func (p *platform) Erase(_ context.Context, path string) error {
	p.deleted = append(p.deleted, path)
	return nil
}

// VMs are told by the lab that created them; those of one that runs are never removed.
func TestOrphans(t *testing.T) {
	running, err := labOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	gone, elsewhere := running, running
	gone.started--
	elsewhere.host = "elsewhere"
	vm := func(name, note string) management.VM {
		return management.VM{ID: "id-" + name, Name: Prefix + name, Host: "h1", Power: management.Off, Note: note}
	}
	p := &platform{vms: []management.VM{
		vm("running", Note("one", running)), vm("dead", Note("two", gone)), vm("elsewhere", Note("one", elsewhere)), vm("old", Mark("three")),
		vm("others", "a note of somebody else\n"+Note("one", gone)), {ID: "id-x", Name: "production", Note: Note("one", gone)},
	}, files: []string{"[store] plimsoll-op-9/plimsoll-op-9.vmx"}}
	all, err := Find(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	lives := map[string]Life{}
	for _, o := range all {
		lives[strings.TrimPrefix(o.Name, Prefix)+" "+o.Owner] = o.Life
	}
	want := map[string]Life{"running one": Running, "dead two": Dead, "elsewhere one": Unknown, "old three": Unknown, "9 ": Unknown}
	if len(lives) != len(want) {
		t.Errorf("found %v", lives)
	}
	for name, life := range want {
		if lives[name] != life {
			t.Errorf("%s is %q, want %q", name, lives[name], life)
		}
	}
	if err := Remove(t.Context(), p, all, func(Orphan) {}); err == nil || len(p.deleted) > 0 {
		t.Errorf("with the VM of a lab that runs: %v, deleted %q", err, p.deleted)
	}
	var told []string
	if err := Remove(t.Context(), p, all[1:], func(o Orphan) { told = append(told, o.String()) }); err != nil || len(p.deleted) != 4 || len(told) != 4 {
		t.Errorf("%v, deleted %q, told %q", err, p.deleted, told)
	}
	p.deleted, p.files = nil, nil
	for _, name := range []string{Names("one", gone), Names("one", elsewhere), Names("one", running), Names("two", gone), Prefix} {
		p.files = append(p.files, "/pool/"+name+"7.qcow2")
	}
	all, err = Find(t.Context(), p)
	for i, want := range []Life{Dead, Unknown, Running, Dead, Unknown} {
		if o := all[len(p.vms)-2+i]; err != nil || o.Life != want || "/pool/"+o.Name+".qcow2" != o.Files {
			t.Errorf("%+v, %v, want %s", o, err, want)
		}
	}
	for _, own := range []Lab{elsewhere, running} {
		p.deleted = nil
		want := p.files[:2]
		if own == running {
			want = p.files[:3] // its own too
		}
		if err := Sweep(t.Context(), p, "one", own); err != nil || !slices.Equal(p.deleted, want) {
			t.Errorf("%v, swept %q, want %q", err, p.deleted, want)
		}
	}
	p.files = nil
	p.browse = errors.New("the account may not browse")
	if all, err := Find(t.Context(), p); err == nil || len(all) != 4 || Sweep(t.Context(), p, "one", running) == nil {
		t.Errorf("without the files: %d orphans, %v", len(all), err)
	}
}
