package hci

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
)

// The vectors are the answers of the code of HCIBench 3.0.
func TestSizesOfHCIBench(t *testing.T) {
	flash := datastore{kind: original, DiskGroups: 4, Cache: 1600, Free: 15000, Failures: 1}
	small := flash
	small.Free = 1500
	for _, c := range []struct {
		name    string
		of      datastore
		profile Profile
		want    guestLoad
	}{
		{"A", datastore{kind: express, Hosts: 8, Total: 100000, Free: 90000, Failures: 2, Parity: true}, Max, guestLoad{16, 8, 64, 16, 2, 512}},
		{"B", datastore{kind: express, Hosts: 4, Total: 3000, Free: 2900, Failures: 1, Parity: true}, Low, guestLoad{8, 4, 20, 32, 4, 512}},
		{"C", flash, Max, guestLoad{8, 8, 9, 4, 1, 256}},
		{"D", small, Medium, guestLoad{8, 4, 9, 8, 2, 256}},
		{"E", datastore{kind: original, DiskGroups: 8, Cache: 6400, Free: 30000, Failures: 1, Hybrid: true, NoChecksum: true}, Max, guestLoad{16, 8, 6, 4, 4, 256}},
		{"F", datastore{Hosts: 3, Total: 20, Free: 18}, Max, guestLoad{6, 8, 1, 16, 2, 512}},
		{"witness", datastore{kind: original, DiskGroups: 4, Cache: 6000, Free: 30000, Failures: 1, Witness: true}, Max, guestLoad{6, 8, 14, 4, 1, 256}},
		{"parity in two sites", datastore{kind: express, Hosts: 8, Total: 9000, Free: 8000, Failures: 1, SiteFailures: 1, Parity: true}, Max, guestLoad{16, 8, 5, 16, 2, 512}},
		{"parity", datastore{kind: original, DiskGroups: 4, Cache: 2400, Free: 30000, Failures: 1, Parity: true}, Max, guestLoad{8, 8, 21, 4, 1, 256}},
		{"double parity", datastore{kind: original, DiskGroups: 6, Cache: 9000, Free: 30000, Failures: 2, Parity: true}, Max, guestLoad{12, 8, 18, 4, 1, 256}},
		{"double parity in two sites", datastore{kind: original, DiskGroups: 6, Cache: 9000, Free: 30000, Failures: 2, SiteFailures: 1, Parity: true}, Max, guestLoad{12, 8, 4, 4, 1, 256}},
		{"nothing", datastore{}, Max, guestLoad{0, 8, 1, 16, 2, 512}},
	} {
		if got := sizeOf(c.of, c.profile); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if err := sizeOf(datastore{Hosts: 3, Total: 20, Free: 18}, Max).fits(18); err == nil || !strings.Contains(err.Error(), "48 GB in total, and 18 GB are free") {
		t.Errorf("48 disks of 1 GB fit into 18: %v", err)
	}
}

func TestOptions(t *testing.T) {
	o, others, err := OptionsOf([]string{"measure.window=1s", "hci.profile=low", "hci.policy=hcibench", "hci.jobs=4k-read,large-write", "ceph.osds=3"})
	if err != nil || o.Profile != Low || o.Policy != HCIBench || !slices.Equal(o.Jobs, []string{"4k-read", "large-write"}) || !slices.Equal(others, []string{"measure.window=1s", "ceph.osds=3"}) {
		t.Errorf("%+v, others %q, %v", o, others, err)
	}
	for set, want := range map[string]string{
		"hci.profile=lwo": `hci.profile: "lwo" is unknown; did you mean "low"?`, "hci.policy": `hci.policy: "" is unknown; known: small, hcibench`, "hci.jobs=4k-raed": `did you mean "4k-read"?`,
		"hci.polcy=small": `option "hci.polcy" is unknown; did you mean "hci.policy"?`,
	} {
		if _, _, err := OptionsOf([]string{set}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
}

func TestPlan(t *testing.T) {
	host := Survey{CPUs: 2, Memory: 24 * gib, Disk: 50 * gib}
	large := Survey{CPUs: 16, Memory: 64 * gib, Disk: 500 * gib, Cluster: &Cluster{Hosts: 8, OSDs: 64, Total: 40000 * gb, Free: 36000 * gb}}
	e, err := Plan(host, Options{Policy: Small, Profile: Max})
	if err != nil || len(e.Jobs) != 6 || e.Disks != 4 || e.Size != 128*mib {
		t.Fatalf("%+v, %v", e, err)
	}
	if got, want := strings.Join(e.Jobs[4].Sets, " "), "ceph.osds=4 ceph.size=1GiB storage.disks=4 storage.size=128MiB storage.spec=524288_100_0 storage.depth=2 question=How much of what this host's own disks carry does the storage cluster carry with 512 KiB, sequential reads?"; got != want {
		t.Errorf("large reads: %s, want %s", got, want)
	}
	e, err = Plan(large, Options{Policy: Small, Profile: Medium, Jobs: []string{"large-read"}})
	if err != nil || len(e.Jobs) != 1 || e.Size != 2*gib || !slices.Contains(e.Jobs[0].Sets, "load={peak: {within: {p95: 10ms, errors: 0/s}, from: 4000/s}}") || slices.ContainsFunc(e.Jobs[0].Sets, func(s string) bool { return strings.HasPrefix(s, "ceph.") }) {
		t.Errorf("%+v, %v", e, err)
	}
	e, err = Plan(large, Options{Policy: HCIBench, Profile: Max})
	if err != nil || e.Disks != 128 || e.Size != 64*gb/mib*mib || !slices.Contains(e.Jobs[0].Sets, "measure.window=1h") || !slices.Contains(e.Jobs[0].Sets, "storage.depth=16") {
		t.Errorf("%+v, %v", e, err)
	}
	little := Survey{CPUs: 1, Memory: 2 * gib, Disk: 20 * gib}
	if e, err = Plan(little, Options{Policy: Small, Profile: Max}); err == nil {
		t.Errorf("%d OSDs in 2 GiB: %+v", privateOSD, e.Jobs[0])
	}
	for _, c := range []struct {
		s    Survey
		o    Options
		want string
	}{
		{little, Options{Policy: Small}, "a private cluster of 3 OSDs takes about"},
		{Survey{CPUs: 2, Memory: 24 * gib, Disk: gib}, Options{Policy: Small}, "takes 1.50GiB of disk space, and 1.00GiB are free"},
		{Survey{CPUs: 2, Memory: 24 * gib, Disk: gib, Cluster: &Cluster{Hosts: 1, OSDs: 1, Free: 100 * mib}}, Options{Policy: Small}, "the pool has 100MiB free, and the smallest easy run takes 512MiB"},
		{host, Options{Policy: HCIBench}, "sizes the load by a cluster that you provide"},
		{Survey{Cluster: &Cluster{Hosts: 3, OSDs: 3, Total: 20 * gb, Free: 18 * gb}}, Options{Policy: HCIBench, Profile: Max}, "6 guests with 8 disks of 1 GB, 48 GB in total, and 18 GB are free"},
	} {
		if _, err := Plan(c.s, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A search starts at a rate that follows from the CPUs of the cluster.
func TestSearchesStart(t *testing.T) {
	host := Survey{CPUs: 2, Memory: 24 * gib, Disk: 50 * gib}
	e, err := Plan(host, Options{Policy: Small, Profile: High})
	if err != nil {
		t.Fatal(err)
	}
	// By hand: 2 CPUs in a quarter of their time, 440, 600, 200, 1000, 1000 and 5000 µs each.
	for i, want := range []string{"1100/s", "830/s", "2500/s", "500/s", "500/s", "100/s"} {
		if sets := strings.Join(e.Jobs[i].Sets, " "); !strings.Contains(sets, ", from: "+want+"}}") || !strings.Contains(sets, "measure.blocks=3") {
			t.Errorf("%s: %s, want from %s", e.Jobs[i].Name, sets, want)
		}
	}
	cluster := Survey{CPUs: 16, Cluster: &Cluster{Hosts: 3, OSDs: 12, Total: 4000 * gb, Free: 3000 * gb}}
	e, err = Plan(cluster, Options{Policy: HCIBench, Profile: Low, Jobs: []string{"4k-write"}})
	if sets := strings.Join(e.Jobs[0].Sets, " "); err != nil || !strings.Contains(sets, "from: 3000/s") || !strings.Contains(sets, "measure.window=1m") || strings.Contains(sets, "1h") {
		t.Errorf("%s, %v", sets, err)
	}
}

func TestDeviceOperations(t *testing.T) {
	for _, c := range []struct {
		reads        int
		copies, want float64
	}{{100, 3, 1}, {0, 2, 2}, {70, 2, 1.3}, {50, 1.5, 1.25}, {0, 0, 1}} {
		if got := (Job{Reads: c.reads}).DeviceOperations(c.copies); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%d %% reads, %g copies: %g, want %g", c.reads, c.copies, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	s := Survey{CPUs: 1, Memory: 2 * gib, Disk: 50 * gib, Cluster: &Cluster{Hosts: 1, OSDs: 3, Total: 4 * gib, Free: gib}}
	want := "this host: 1 CPU, 2.00GiB of memory, 50.0GiB of disk space free\ncluster: 3 OSDs on 1 host; the pool can hold 4.00GiB, of which 1.00GiB are free"
	if got := strings.Join(s.Lines(), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Whatever is surveyed, what is planned fits.
func TestPlansFit(t *testing.T) {
	for cpus := 1; cpus <= 256; cpus *= 2 {
		for disk := 1; disk <= 4096; disk *= 3 {
			for osds := 0; osds <= 512; osds = 2*osds + 1 {
				s := Survey{CPUs: cpus, Memory: 64 * gib, Disk: parameter.Bytes(disk) * gib}
				if osds > 0 {
					s.Cluster = &Cluster{Hosts: (osds + 3) / 4, OSDs: osds, Total: 2 * parameter.Bytes(disk) * gib, Free: parameter.Bytes(disk) * gib}
				}
				e, err := Plan(s, Options{Policy: Small, Profile: Max})
				if err != nil {
					continue
				}
				all := e.Size * parameter.Bytes(e.Disks)
				if all < leastData || all > mostData || all > max(leastData, s.Disk/diskShare) {
					t.Fatalf("%+v: %d images of %s", s, e.Disks, e.Size)
				}
			}
		}
	}
}
