package storage

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestCommandLines(t *testing.T) {
	stage := load.Stage{Length: 90 * time.Second, Interval: time.Second, Seed: 1<<63 + 5}
	for name, s := range map[string]parameter.Settings{
		"defaults":  nil,
		"read":      {"read": "100%", "random": "0%", "depth": "32", "disks": "2"},
		"mix":       {"block": "4KiB/70:64KiB/30", "read": "70%", "random": "40%", "engine": "io_uring", "depth": "8", "threads": "4", "direct": "false"},
		"spec":      {"spec": "65536_67_33", "working_set": "10%"},
		"open_loop": {"rate": "1000/s", "read": "70%", "disks": "2", "threads": "5"},
		"odd_rate":  {"rate": "62.5/s", "read": "70%", "disks": "2", "depth": "8", "random": "0%", "block": "64KiB"},
		"content":   {"read": "0%", "compress": "50%", "dedup": "20%"},
		"verify":    {"read": "100%", "verify": "crc32c"},
		"targets":   {"targets": `["/dev/sdx","/srv/a:b"]`, "destroy": "true", "working_set": "25%"},
		"apart":     {"block": "4KiB/70:64KiB/30,8KiB", "read": "50%"},
		"stretches": {"random": "0%", "threads": "3", "block": "1MiB", "working_set": "50%"},
	} {
		t.Run(name, func(t *testing.T) {
			d := made(t, s)
			on, err := d.places(t.Context(), env(server()))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(d.pattern.command(on, stage), "\n") + "\n"
			golden := "testdata/command/" + name + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestALoadThatOnlyReadsIsTold(t *testing.T) {
	for read, want := range map[string]bool{"100%": true, "99%": false, "0%": false} {
		d := made(t, parameter.Settings{"read": read})
		got := slices.Contains(d.pattern.command([]disk{{"/x", 1 << 20}}, load.Stage{Length: time.Second, Interval: time.Second}), "--readonly")
		if got != want {
			t.Errorf("read %s: --readonly is %v", read, got)
		}
	}
}

func TestIntervalsAreNotTooShort(t *testing.T) {
	argv := made(t, nil).pattern.command([]disk{{"/x", 1 << 20}}, load.Stage{Length: time.Second, Interval: time.Millisecond})
	if !slices.Contains(argv, "--status-interval=250ms") {
		t.Errorf("got %q", argv)
	}
}

func TestPartsCoverADisk(t *testing.T) {
	for size, want := range map[string]string{
		"64KiB":   "--bs=65536 --offset=0 --size=65536",
		"1MiB":    "--bs=1048576 --size=1048576",
		"1.5MiB":  "--bs=1048576 --size=1048576; --bs=524288 --offset=1048576 --size=524288",
		"512MiB":  "--bs=1048576 --size=536870912",
		"100000B": "",
	} {
		l, err := Kind().New(parameter.Settings{"size": size})
		if want == "" {
			refused(t, err, "multiple of 512")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, p := range parts(l.(*disks).pattern.Size) {
			all = append(all, strings.Join(p, " "))
		}
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%s: got %q, want %q", size, got, want)
		}
	}
}
