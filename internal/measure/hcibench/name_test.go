package hcibench

import (
	"reflect"
	"testing"
	"time"
)

func TestParseName(t *testing.T) {
	at := time.Unix(1776000000, 0).UTC()
	load := func(change func(*Load)) *Load {
		l := &Load{Tool: Fio, Disks: 8, WorkingSet: 100, Block: "4k", Read: 70, Random: 100, Threads: 4}
		change(l)
		return l
	}
	for folder, want := range map[string]Name{
		"fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads-1776000000":        {NoGroup, "fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads", at, load(func(*Load) {})},
		"group2-fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads-1776000000": {2, "fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads", at, load(func(*Load) {})},
		"fio-8vmdk-100ws-4k-70rdpct-100randompct-1000lt-50compress-50dedupe": {NoGroup, "fio-8vmdk-100ws-4k-70rdpct-100randompct-1000lt-50compress-50dedupe", time.Time{},
			load(func(l *Load) { l.Threads, l.Target, l.Compress, l.Dedupe = 0, time.Millisecond, 50, 50 })},
		"my-own-fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads-2jobs-4cpu-50cpupct-1776000000": {NoGroup, "my-own-fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads-2jobs-4cpu-50cpupct", at,
			load(func(l *Load) { l.Prefix, l.Jobs = "my-own", 2 })},
		"vdb-8vmdk-100ws-4k-70rdpct-100randompct-threads-1776000000": {NoGroup, "vdb-8vmdk-100ws-4k-70rdpct-100randompct-threads", at, load(func(l *Load) { l.Tool, l.Threads = Vdbench, 0 })},
		"mine-1776000000":         {NoGroup, "mine", at, nil},
		"group1-mine-1776000000":  {1, "mine", at, nil},
		"group12345-a-1776000000": {NoGroup, "group12345-a", at, nil},
		"mine-17760":              {NoGroup, "mine-17760", time.Time{}, nil},
		"fio-4vmdk-4k-70ws-100rdpct-100randpct-4threads-1776000000": {NoGroup, "fio-4vmdk-4k-70ws-100rdpct-100randpct-4threads", at, nil}, // of the samples of HCIBench's interface
	} {
		if got := ParseName(folder); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v with %+v, want %+v with %+v", folder, got, got.Load, want, want.Load)
		}
	}
}

// A name is put together as it was, and the name of a load says what was read.
func FuzzName(f *testing.F) {
	f.Add("group3-image-fio-4vmdk-100ws-512k-100rdpct-0randompct-3000lt-2jobs-50compress-50dedupe-1776200100")
	f.Add("group0-group1-vdbench-1vmdk-1ws-1k-1rdpct-1randompct-threads-012345678-123456789")
	f.Fuzz(func(t *testing.T, folder string) {
		n := ParseName(folder)
		if n.String() != folder {
			t.Errorf("%q becomes %q", folder, n)
		}
		if n.Load != nil {
			if again := parseLoad(n.Load.File()); !reflect.DeepEqual(again, n.Load) {
				t.Errorf("%q: %+v, named %s, is read as %+v", folder, n.Load, n.Load.File(), again)
			}
		}
	})
}
