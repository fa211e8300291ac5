package memory

import (
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	// cached is the share of bytes read from memory that changes the result of a test.
	cached = 0.2
	// leastCached is the rate of reads from memory that no incidental file explains.
	leastCached = 10e6
)

// diskTests are programs that ask how fast a disk is.
var diskTests = []string{"fio", "dd", "iozone", "bonnie++", "bonnie", "hdparm", "ioping", "iometer", "dynamo", "diskspd", "elbencho", "ior", "mdtest", "sysbench"}

// remoteEngines are the engines of fio that read from sockets, which count as read calls too.
var remoteEngines = []string{"rbd", "rados", "nbd", "libiscsi", "nfs", "http", "libhdfs", "gfapi", "gfapi_async", "net", "netsplice", "rdma"}

// remote reports whether a test reads from another system.
func remote(p *hoststat.Process) bool {
	return slices.ContainsFunc(remoteEngines, func(name string) bool {
		return strings.Contains(p.Command+" ", "ioengine="+name+" ") || strings.Contains(p.Command+" ", "ioengine "+name+" ")
	})
}

// pageCacheAsDisk finds tests of a disk whose reads the page cache serves. Services that are meant
// to read from memory look alike, so it looks at storage benchmarks only, and not at those of other systems.
var pageCacheAsDisk = diagnosis.Rule{
	Name: "page_cache_as_disk", Area: diagnosis.Memory,
	Doc:      "a test of storage reads from memory",
	Needs:    []string{"processes"},
	Explains: []string{"hot_thread", "client_limit", "cpu_saturated", "huge_pages"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, p := range e.Services() {
			io := p.IO()
			fromMemory := io.ReadChars - io.ReadBytes
			if !slices.Contains(diskTests, p.Name) || !e.Asked(p.Processes[0]) || slices.ContainsFunc(p.Processes, remote) || fromMemory < leastCached || fromMemory < cached*io.ReadChars {
				continue
			}
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Confidence: diagnosis.Certain,
				Impact:     fromMemory / io.ReadChars,
				Says:       "{subject} reads {read} per second, but only {from disk} come from a disk: the result is that of the page cache.",
				Evidence:   []diagnosis.Fact{diagnosis.Bytes("read", io.ReadChars), diagnosis.Bytes("from disk", io.ReadBytes), diagnosis.Share("from memory", fromMemory/io.ReadChars)},
				Change:     bypass(p.Name),
			})
		}
		return found
	},
}

// bypass is how a test reads from the disk.
func bypass(name string) *diagnosis.Change {
	c := &diagnosis.Change{Says: "read with direct I/O, or use a file larger than the memory and drop the page cache first", Command: "sync; echo 3 > /proc/sys/vm/drop_caches"}
	if option := map[string]string{"fio": "--direct=1", "dd": "iflag=direct", "iozone": "-I", "sysbench": "--file-extra-flags=direct", "elbencho": "--direct"}[name]; option != "" {
		c.Says, c.Command = "read with direct I/O: give "+name+" the option "+option, "# "+name+" "+option
	}
	return c
}
