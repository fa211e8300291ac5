package libvirt

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A merge waits for all data, asks again where the domain has written past it, and ends with its context.
func TestMerge(t *testing.T) {
	job := func(found int32, written, all uint64) func(message) message {
		return body(func(e *encoder) {
			e.int32(found)
			e.int32(2)
			e.uint64(0)
			e.uint64(written)
			e.uint64(all)
		})
	}
	begins, ends := body(func(*encoder) {}), body(func(*encoder) {})
	var pivots int
	late := func(m message) message {
		if pivots++; pivots < 3 {
			return refusal(stillActive, "not ready for pivot yet")(m)
		}
		return ends(m)
	}
	for name, tc := range map[string]struct {
		answers map[int32]func(message) message
		says    string
	}{
		"merged":        {map[int32]func(message) message{procBlockCommit: begins, procBlockJobInfo: job(1, 10, 10), procBlockJobAbort: ends}, ""},
		"written past":  {map[int32]func(message) message{procBlockCommit: begins, procBlockJobInfo: job(1, 10, 10), procBlockJobAbort: late}, ""},
		"does not end":  {map[int32]func(message) message{procBlockCommit: begins, procBlockJobInfo: job(1, 9, 10)}, "enough"},
		"not begun":     {map[int32]func(message) message{procBlockCommit: begins, procBlockJobInfo: job(1, 0, 0)}, "enough"},
		"refused":       {map[int32]func(message) message{procBlockCommit: refusal(55, "no such disk")}, "no such disk"},
		"job has ended": {map[int32]func(message) message{procBlockCommit: begins, procBlockJobInfo: job(0, 0, 0)}, "has ended before"},
		"no way back":   {map[int32]func(message) message{procBlockCommit: begins, procBlockJobInfo: job(1, 10, 10), procBlockJobAbort: refusal(9, "failed")}, "failed"},
		"short answer":  {map[int32]func(message) message{procBlockCommit: begins, procBlockJobInfo: body(func(e *encoder) { e.int32(1) })}, "malformed"},
	} {
		f, c := opened(t, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		for p, a := range tc.answers {
			f.answers[p] = a
		}
		if tc.says == "enough" {
			info, asked := f.answers[procBlockJobInfo], 0
			f.answers[procBlockJobInfo] = func(m message) message {
				if asked++; asked == 3 {
					defer cancel(errors.New("enough"))
				}
				return info(m)
			}
		}
		err := Instance{Conn: c, Domain: Domain{Name: "web"}}.Merge(ctx, Overlay{Disk: "vda", File: "/o"})
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "disk vda of domain web")) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
		cancel(nil)
	}
	if pivots != 3 {
		t.Errorf("asked %d times to return to the disk", pivots)
	}
}

// The description of a snapshot names the disks that have one, and those that have none.
func TestTakeSnapshot(t *testing.T) {
	var asked string
	done := body(func(*encoder) {})
	_, c := opened(t, map[int32]func(message) message{procSnapshotCreate: func(m message) message {
		d := decoder{b: m.body}
		d.domain()
		asked = d.string()
		if flags := d.uint32(); flags != 4|16|128 || d.end() != nil {
			return refusal(8, "flags")(m)
		}
		return done(m)
	}})
	i := Instance{Conn: c, Domain: Domain{Name: "web"}}
	if err := i.TakeSnapshot(t.Context(), []Overlay{{"vda", "/a&b.qcow2"}}, []string{"sda"}); err != nil {
		t.Fatal(err)
	}
	if want := "<domainsnapshot><disks><disk name='vda' snapshot='external'><source file='/a&amp;b.qcow2'/></disk><disk name='sda' snapshot='no'/></disks></domainsnapshot>"; asked != want {
		t.Errorf("asked for %s", asked)
	}
}
