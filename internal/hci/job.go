package hci

import (
	"fmt"
	"slices"

	"plimsoll/internal/parameter"
)

// Study is the built-in study of one job.
const Study = "hci-job"

// Job is one study of an easy run.
type Job struct {
	Name  string          `json:"name"`
	Doc   string          `json:"doc"`
	Reads int             `json:"reads"` // percent
	Block parameter.Bytes `json:"block"`
	Sets  []string        `json:"sets"` // overrides of the study
}

// job is one of HCIBench's six.
type job struct {
	name, doc    string
	block        int // KiB; 0 is the large block
	read, random int // percent
}

// MostJobs is the number of jobs of an easy run that leaves none out.
const MostJobs = 6

var jobs = [MostJobs]job{
	{"4k-70-30", "4 KiB, random, 70 % reads", 4, 70, 100},
	{"8k-50-50", "8 KiB, random, 50 % reads", 8, 50, 100},
	{"4k-read", "4 KiB, random reads", 4, 100, 100},
	{"4k-write", "4 KiB, random writes", 4, 0, 100},
	{"large-read", "large sequential reads", 0, 100, 0},
	{"large-write", "large sequential writes", 0, 0, 0},
}

func jobNames() []string {
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = j.name
	}
	return names
}

// Easy is an easy run.
type Easy struct {
	Survey  Survey          `json:"survey"`
	Policy  Policy          `json:"policy"`
	Profile Profile         `json:"profile"`
	Disks   int             `json:"disks"`
	Size    parameter.Bytes `json:"size"` // of each disk
	Jobs    []Job           `json:"jobs"`
}

// sizing is what a policy decides.
type sizing struct {
	disks, depth, large, block int // block is the large one, in KiB
	cores                      int // CPUs for operations, about: those of this host, on a cluster of the user one for each OSD at most
	size                       parameter.Bytes
	sets                       []string // of all jobs
}

// Plan sizes the jobs of an easy run. Its errors say what does not fit.
func Plan(s Survey, o Options) (*Easy, error) {
	z, err := sized(s, o)
	if err != nil {
		return nil, err
	}
	e := &Easy{Survey: s, Policy: o.Policy, Profile: o.Profile, Disks: z.disks, Size: z.size}
	for _, j := range jobs {
		if o.Jobs == nil || slices.Contains(o.Jobs, j.name) {
			one := j.sized(z, o.Profile)
			one.Sets = append(one.Sets, "question=How much of what this host's own disks carry does the storage cluster carry with "+one.Doc+"?")
			e.Jobs = append(e.Jobs, one)
		}
	}
	return e, nil
}

func sized(s Survey, o Options) (sizing, error) {
	if o.Policy == HCIBench {
		return hcibench(s, o.Profile)
	}
	z, err := small(s)
	if _, limited := targets[o.Profile]; limited {
		z.sets = append(z.sets, "measure.longest=30s", "measure.blocks=3")
	}
	return z, err
}

// sized is the job as overrides of its study.
func (j job) sized(z sizing, p Profile) Job {
	block, depth, doc := j.block, z.depth, j.doc
	if block == 0 {
		block, depth = z.block, z.large
		doc = fmt.Sprintf("%d KiB, %s", block, doc[len("large "):])
	}
	one := Job{Name: j.name, Doc: doc, Reads: j.read, Block: parameter.Bytes(block) * kib, Sets: append(slices.Clone(z.sets),
		fmt.Sprintf("storage.disks=%d", z.disks), fmt.Sprintf("storage.size=%s", z.size), fmt.Sprintf("storage.spec=%d_%d_%d", block<<10, j.read, j.random))}
	target, limited := targets[p]
	if !limited {
		one.Sets = append(one.Sets, fmt.Sprintf("storage.depth=%d", depth))
		return one
	}
	limit := target[0]
	if j.random == 0 {
		limit = target[1]
	}
	one.Doc += fmt.Sprintf(", p95 within %d ms", limit)
	one.Sets = append(one.Sets, fmt.Sprintf("storage.depth=%d", searched), fmt.Sprintf("load={peak: {within: {p95: %dms, errors: 0/s}, from: %d/s}}", limit, j.from(z.cores)),
		"headline=[peak]")
	return one
}

// searched is how many operations of a disk may be outstanding while a peak is searched.
const searched = 32

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
	gb  = 1_000_000_000
)

// Of the small policy: it fits any host, and takes minutes.
const (
	smallDisks = 4
	smallDepth = 8         // 32 outstanding operations in total, as a guest of HCIBench has on disk groups
	perCPU     = 256 * mib // of data
	leastData  = 512 * mib // above the caches of a private cluster
	mostData   = 8 * gib   // which a disk fills in minutes
	diskShare  = 10        // of the free space, at most one part
	osdMemory  = 364 * mib // of an OSD, with its cache
	privateOSD = 4         // OSDs of a private cluster
	fewestOSDs = 3         // that still have somewhere to restore redundancy
	largeBlock = 512       // KiB
	osdLeast   = 1 * gib   // that Ceph starts with
	copies     = 2         // of a private cluster
	headroom   = 4         // space of a private OSD, by the data on it
)

// small sizes a load that fits any host.
func small(s Survey) (sizing, error) {
	z := sizing{disks: smallDisks, depth: smallDepth, large: smallDepth / 4, block: largeBlock, cores: s.CPUs}
	data, free := parameter.Bytes(s.CPUs)*perCPU, s.Disk
	if c := s.Cluster; c != nil {
		data, free, z.cores = parameter.Bytes(c.OSDs)*perCPU, c.Free, min(s.CPUs, c.OSDs)
		z.depth = max(smallDepth, 2*c.OSDs)
		z.large = z.depth / 4
	}
	data = min(max(data, leastData), mostData, max(leastData, free/diskShare))
	z.size = data / smallDisks / mib * mib
	if s.Cluster != nil {
		if data > free {
			return z, fmt.Errorf("the pool has %s free, and the smallest easy run takes %s: free some space, or provide another pool", free.About(), data.About())
		}
		return z, nil
	}
	osds := min(privateOSD, int(s.Memory/2/osdMemory))
	if osds < fewestOSDs {
		return z, fmt.Errorf("a private cluster of %d OSDs takes about %s of memory, half of what is there at most, and this host has %s: provide a cluster with ceph.address and ceph.pool",
			fewestOSDs, parameter.Bytes(fewestOSDs*osdMemory), s.Memory.About())
	}
	if need := (copies + 1) * data; need > s.Disk/10*9 { // the same data again as files
		return z, fmt.Errorf("a private cluster with %s of data, and the same as files, takes %s of disk space, and %s are free: take another folder (--out)", data.About(), need.About(), s.Disk.About())
	}
	size := max(osdLeast, (headroom*copies*data/parameter.Bytes(osds)+gib-1)/gib*gib)
	z.sets = []string{fmt.Sprintf("ceph.osds=%d", osds), fmt.Sprintf("ceph.size=%s", size)}
	return z, nil
}

// hcibench sizes a load as HCIBench does for a datastore that is not vSAN: all disks of its guests, from this host, for its times.
func hcibench(s Survey, p Profile) (sizing, error) {
	if s.Cluster == nil {
		return sizing{}, fmt.Errorf("hci.policy=hcibench sizes the load by a cluster that you provide: set ceph.address and ceph.pool, or take hci.policy=small")
	}
	d := datastore{Hosts: s.Cluster.Hosts, Total: int(s.Cluster.Total / gb), Free: int(s.Cluster.Free / gb)}
	h := sizeOf(d, p)
	if err := h.fits(d.Free); err != nil {
		return sizing{}, err
	}
	z := sizing{
		disks: h.Guests * h.Disks, depth: h.Depth, large: h.Large, block: h.Block, size: parameter.Bytes(h.GB) * gb / mib * mib, cores: min(s.CPUs, s.Cluster.OSDs),
		sets: []string{"factors={}", "storage.backing=image", "storage.compress=50%", "storage.dedup=50%", "measure.blocks=1"},
	}
	if _, limited := targets[p]; limited {
		z.sets = append(z.sets, "measure.window=1m", "measure.longest=5m") // of each load of a search, which has dozens
	} else {
		z.sets = append(z.sets, "measure.warmup=30m", "measure.window=1h", "measure.longest=2h")
	}
	return z, nil
}
