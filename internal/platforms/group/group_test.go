package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/platform"
)

// vm counts what happens to it.
type vm struct {
	platform.Machine
	number        int
	boots, ends   int
	booted, ended error
	late          bool            // its end came with a context that was over
	meet          *sync.WaitGroup // of those that boot; nil for none
}

func (v *vm) Rename(string) {}
func (v *vm) Boot(context.Context) error {
	v.boots++
	if v.meet != nil {
		v.meet.Done()
		v.meet.Wait()
	}
	return v.booted
}
func (v *vm) End(ctx context.Context) error {
	v.ends++
	v.late = ctx.Err() != nil
	return v.ended
}

// What is deployed ends, whatever happens, and frees its number.
func TestDeploy(t *testing.T) {
	stuck, left, full := errors.New("it does not boot"), errors.New("it stays"), errors.New("no memory is left")
	for _, c := range []struct {
		booted, ended, checked error
		want                   []string
	}{
		{}, {booted: stuck, want: []string{"it does not boot"}}, {ended: left, want: []string{"it stays"}},
		{booted: stuck, ended: left, want: []string{"it does not boot", "it stays"}}, {checked: full, want: []string{"no memory is left"}},
	} {
		var made []*vm
		take := func(i Identity) (*vm, error) {
			v := &vm{number: i.Number, booted: c.booted, ended: c.ended}
			made = append(made, v)
			return v, nil
		}
		g, err := New("guest", take, func([]*vm) error { return c.checked })
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 {
			err = g.Deploy(ctx, platform.Group{Name: "twin-deploy"}, take)
		}
		if len(made) != 3 || made[1].number != 2 || made[2].number != 2 {
			t.Fatalf("%+v", made)
		}
		for _, v := range made[1:] {
			if v.ends != 1 || v.late || v.boots != 1 && c.checked == nil || v.boots > 0 && c.checked != nil {
				t.Errorf("%v: %+v", c, v)
			}
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v", c, err)
			}
		}
		if len(c.want) == 0 && err != nil {
			t.Error(err)
		}
		if len(g.all["twin-deploy"]) > 0 {
			t.Error("it is kept")
		}
	}
	refused := errors.New("no address is left")
	g, _ := New("guest", func(Identity) (*vm, error) { return &vm{}, nil }, func([]*vm) error { return nil })
	if err := g.Deploy(t.Context(), platform.Group{Name: "twin-deploy"}, func(Identity) (*vm, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// The VMs of several groups are numbered in order, checked together, and boot at once; each group then gets as many as it wants.
func TestMembersOfSeveralGroups(t *testing.T) {
	meet := &sync.WaitGroup{}
	checked := 0
	taking := func(g platform.Group) (func(Identity) (*vm, error), error) {
		if g.Machines == 0 {
			return nil, errors.New("no VMs of group " + g.Name)
		}
		return func(i Identity) (*vm, error) { return &vm{number: i.Number, meet: meet}, nil }, nil
	}
	first, _ := taking(platform.Group{Machines: 1})
	g, err := New("guest", first, func(all []*vm) error {
		checked = len(all)
		meet.Add(len(all))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		servers, clients int
		want             string
	}{{2, 1, "[[2 3] [4]]"}, {1, 3, "[[2] [4 3 5]]"}, {0, 3, "no VMs of group server"}, {1, 1, "[[2] [4]]"}} {
		all, err := g.Members(t.Context(), []platform.Group{{Name: "server", Machines: c.servers}, {Name: "client", Machines: c.clients}}, taking)
		numbers := make([][]int, len(all))
		for i := range all {
			for _, m := range all[i] {
				numbers[i] = append(numbers[i], m.(*vm).number)
			}
		}
		if got := fmt.Sprint(numbers); err == nil && (got != c.want || checked != c.servers+c.clients) || err != nil && err.Error() != c.want {
			t.Errorf("%d and %d: %s, %v, want %s; %d were checked", c.servers, c.clients, got, err, c.want, checked)
		}
	}
}
