package hci

import "fmt"

// architecture is that of a datastore.
type architecture int

// The architectures. original and express are those of vSAN; foreign is any other datastore, which handles redundancy itself.
const (
	foreign architecture = iota
	original
	express
)

// datastore is what HCIBench sizes a load by. Sizes are whole GB, as HCIBench counts them.
type datastore struct {
	kind        architecture
	Hosts       int
	Total, Free int // GB
	Failures    int // that its policy tolerates
	Parity      bool

	// Of the original architecture.
	DiskGroups   int
	Cache        int // GB of all disk groups
	Hybrid       bool
	Witness      bool // of a stretched cluster: its disk group has no data
	SiteFailures int  // tolerated within a site, of a stretched cluster
	NoChecksum   bool
}

// guestLoad is a load: guests with disks, and the outstanding operations of each disk.
type guestLoad struct {
	Guests int
	Disks  int // of each guest
	GB     int // of each disk
	Depth  int // of small blocks
	Large  int // depth of large blocks
	Block  int // the large block, in KiB
}

// all is the size of all disks in GB.
func (z guestLoad) all() int { return z.Guests * z.Disks * z.GB }

// Limits of the easy run of HCIBench.
const (
	mostGB       = 64  // of a disk
	groupGB      = 600 // of a disk group that counts
	fullShare    = 0.8 // of the free space
	outstanding  = 128 // of a guest
	ofDiskGroups = 32  // of a guest, in the original architecture
)

// sizeOf sizes a load as the easy run of HCIBench 3.0 does: a working set of a third of the datastore, or of the caches of the disk groups. Source: the code
// of HCIBench 3.0 (github.com/vmware-labs/hci-benchmark-appliance).
func sizeOf(d datastore, p Profile) guestLoad {
	z := guestLoad{Guests: 2 * d.Hosts, Disks: disksOf(p), Block: 512}
	base, share := d.Total/3, 1.
	if d.kind == original {
		groups := d.DiskGroups
		if d.Witness {
			groups--
		}
		z.Guests, z.Block, base, share = 2*groups, 256, min(groupGB*groups, d.Cache), .75
		if d.Hybrid {
			base, share = d.Cache, .25
		}
	}
	for base > 0 && fullShare*float64(d.Free) < float64(base) {
		base /= 2
	}
	footprint := float64(base) * share / d.amplification()
	z.GB = max(1, int(footprint/float64(max(1, z.Guests*z.Disks))))
	z.Depth, z.Large = outstanding/z.Disks, outstanding/z.Disks/8
	switch {
	case d.kind != original:
		z.GB = min(z.GB, mostGB)
	case d.NoChecksum:
		z.Depth, z.Large = ofDiskGroups/z.Disks, ofDiskGroups/z.Disks
	default:
		z.Depth, z.Large = ofDiskGroups/z.Disks, ofDiskGroups/z.Disks/4
	}
	return z
}

// disksOf is the number of disks of a guest.
func disksOf(p Profile) int {
	if p == Max {
		return 8
	}
	return 4
}

// amplification is how many bytes a byte takes, as HCIBench counts: parity of more than three copies counts as copies.
func (d datastore) amplification() float64 {
	if d.kind == foreign {
		return 1
	}
	copies := (d.Failures + 1) * (d.SiteFailures + 1)
	switch {
	case !d.Parity || copies != 2 && copies != 3:
		return float64(copies)
	case copies == 3, d.kind == express && d.Hosts <= 4:
		return 1.5
	case d.kind == express:
		return 1.25
	}
	return 1.33
}

// fits refuses a sizing that is larger than the datastore: HCIBench's least size of a disk may be.
func (z guestLoad) fits(free int) error {
	if z.all() <= free {
		return nil
	}
	return fmt.Errorf("HCIBench's sizing is %d guests with %d disks of %d GB, %d GB in total, and %d GB are free: take hci.policy=small", z.Guests, z.Disks, z.GB, z.all(), free)
}
