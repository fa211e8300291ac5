package storage

import (
	"math"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
)

func TestParseMix(t *testing.T) {
	for text, want := range map[string][]blockShare{
		"4KiB":                                   {{4096, 1}},
		"1MB":                                    nil, // 10^6 is not a multiple of 512
		"4KiB/70:64KiB/30":                       {{4096, .7}, {65536, .3}},
		"512B/1:1GiB/99":                         {{512, .01}, {1 << 30, .99}},
		"":                                       nil,
		"4096":                                   nil,
		"0B":                                     nil,
		"513B":                                   nil,
		"2GiB":                                   nil,
		"4KiB/100":                               nil,
		"4KiB:8KiB":                              nil,
		"4KiB/70:8KiB":                           nil,
		"4KiB/70:8KiB/40":                        nil,
		"4KiB/0:8KiB/100":                        nil,
		"4KiB/33.5:8KiB/66.5":                    nil,
		"4KiB/70:8KiB/30:":                       nil,
		"4KiB/NaN:8KiB/30":                       nil,
		strings.Repeat("4KiB/1:", 99) + "4KiB/1": nil, // fio takes 64
	} {
		got, err := parseMix(text)
		if want == nil {
			if err == nil {
				t.Errorf("%q passed as %v", text, got)
			}
			continue
		}
		same := err == nil && len(got) == len(want)
		for i := range got {
			same = same && got[i].size == want[i].size && math.Abs(got[i].share-want[i].share) < 1e-12
		}
		if !same {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestSettingsThatDoNotGoTogether(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"engine": "psync", "depth": "4"}, "depth 4 has no effect"},
		{parameter.Settings{"engine": "mmap", "depth": "2"}, "depth 2 has no effect"},
		{parameter.Settings{"size": "64KiB", "block": "1MiB"}, "smaller than one block"},
		{parameter.Settings{"size": "1MiB", "block": "4KiB/50:64KiB/50", "working_set": "1%"}, "smaller than one block of 64KiB"},
		{parameter.Settings{"working_set": "0%"}, "smaller than one block"},
		{parameter.Settings{"verify": "crc32c", "read": "50%"}, "only read"},
		{parameter.Settings{"verify": "crc32c", "read": "100%", "block": "4KiB/50:8KiB/50"}, "one size"},
		{parameter.Settings{"verify": "crc32c", "read": "100%", "precondition": "zero"}, "precondition: random"},
		{parameter.Settings{"verify": "crc32c", "read": "100%", "block": "12KiB"}, "divide 1MiB"},
		{parameter.Settings{"dedup": "50%", "compress": "100%"}, "dedup has nothing to do"},
		{parameter.Settings{"targets": "sdx"}, "absolute paths"},
		{parameter.Settings{"size": "100001B"}, "multiple of 512"},
		{parameter.Settings{"read": "12.5%"}, "read: 12.5% is not a whole percentage"},
		{parameter.Settings{"random": "0.4%"}, "random: 0.4%"},
		{parameter.Settings{"compress": "0.5%"}, "compress: 0.5%"},
		{parameter.Settings{"dedup": "1.5%"}, "dedup: 1.5%"},
		{parameter.Settings{"spec": "4096_100_0", "block": "4KiB"}, "spec 4096_100_0 and block: 4KiB exclude each other"},
		{parameter.Settings{"spec": "4096_100_0", "read": "100%"}, "exclude each other"},
		{parameter.Settings{"spec": "4096_100_0", "random": "0%"}, "exclude each other"},
		{parameter.Settings{"block": "4KiB,4KB"}, "multiple of 512"},
		{parameter.Settings{"block": "4KiB,8KiB,16KiB"}, "4KiB,8KiB,16KiB"[5:]},
		{parameter.Settings{"size": "64KiB", "block": "4KiB,1MiB"}, "smaller than one block of 1MiB"},
		{parameter.Settings{"size": "1MiB", "block": "64KiB", "threads": "17", "random": "0%"}, "17 workers"},
		{parameter.Settings{"spec": "4096_100"}, "4096_100"},
		{parameter.Settings{"block": "4096"}, `block "4096"`},
	} {
		_, err := Kind().New(c.settings)
		refused(t, err, c.want)
	}
	for _, s := range []parameter.Settings{
		{"depth": "32"}, {"engine": "psync", "depth": "4", "rate": "100/s"}, {"block": "4KiB/70:64KiB/30,8KiB"}, {"size": "1MiB", "block": "64KiB", "threads": "16", "random": "0%"}, {"engine": "io_uring", "depth": "32"}, {"spec": "65536_67_33"}, {"verify": "crc32c", "read": "100%"},
		{"verify": "crc32c", "read": "100%", "precondition": "none"}, {"read": "7%"}, {"read": "29%"}, {"read": "57%"}, {"working_set": "12.5%"}, {"dedup": "50%", "compress": "99%"},
	} {
		if _, err := Kind().New(s); err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
}

func TestDemand(t *testing.T) {
	d := made(t, parameter.Settings{"disks": "2", "threads": "3", "depth": "4", "read": "70%", "block": "4KiB/50:8KiB/50"}).Demand()
	if d.Concurrency != 24 || len(d.Classes) != 2 || d.Classes[0].Name != "read" || d.Classes[0].Share != .7 || d.Classes[1].Bytes != 6144 {
		t.Errorf("got %+v", d)
	}
	if d := made(t, parameter.Settings{"read": "50%", "block": "4KiB,64KiB"}).Demand(); d.Classes[0].Bytes != 4096 || d.Classes[1].Bytes != 65536 {
		t.Errorf("got %+v", d)
	}
	if d := made(t, parameter.Settings{"targets": `["/dev/a","/dev/b"]`, "spec": "8192_0_100"}).Demand(); d.Concurrency != 2 || len(d.Classes) != 1 || d.Classes[0].Name != "write" || d.Classes[0].Bytes != 8192 {
		t.Errorf("got %+v", d)
	}
}

func FuzzBlocks(f *testing.F) {
	for _, seed := range []string{"4KiB/70:64KiB/30", "4KiB", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := parseBlocks(text); err == nil && (len(b.read) == 0 || len(b.write) == 0) {
			t.Errorf("%q passed as %v", text, b)
		}
		blocks, err := parseMix(text)
		if err != nil {
			return
		}
		sum := 0.0
		for _, b := range blocks {
			sum += b.share
			if b.size < 512 || b.size%512 != 0 || b.size > 1<<30 {
				t.Errorf("%q passed as %v", text, blocks)
			}
		}
		if math.Abs(sum-1) > 1e-9 || len(blocks) > 64 {
			t.Errorf("%q: %d shares add up to %g", text, len(blocks), sum)
		}
	})
}
