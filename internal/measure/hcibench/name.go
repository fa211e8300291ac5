// Package hcibench is the format of HCIBench's results: the names of parameter files and cases, the summary of a case, the output of vdbench, and the files
// of a case as plimsoll writes them. Its source is the code of HCIBench 2.8 and 3.0 (github.com/vmware-labs/hci-benchmark-appliance).
package hcibench

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The load generators of HCIBench.
const (
	Fio     = "fio"
	Vdbench = "vdbench"
)

// NoGroup is the group of a case that ran alone.
const NoGroup = -1

// Name is the name of a case: its parameter file, with the second of its start behind and the VM group before it.
type Name struct {
	Group int // number of the VM group from 0, or NoGroup
	// File is the name of the parameter file.
	File  string
	Start time.Time // zero without one

	// What the name of the file says, if HCIBench made it.
	Load *Load
}

// Load is what the name of a parameter file says. Percentages are whole.
type Load struct {
	Prefix     string // that the user chose
	Tool       string // Fio or Vdbench
	Disks      int
	WorkingSet int    // percent
	Block      string // as given to the tool, such as 4k
	Read       int    // percent
	Random     int    // percent
	Threads    int    // outstanding operations of a disk; 0 if the name does not say
	Target     time.Duration
	Jobs       int // 0: one per disk
	Compress   int // percent; 0 is unknown
	Dedupe     int // percent; 0 is unknown
}

var (
	started = regexp.MustCompile(`-([1-9]\d{8,10})$`)
	grouped = regexp.MustCompile(`^group(0|[1-9]\d{0,3})-`)
	made    = regexp.MustCompile(`^(?:(.+)-)?(fio|vdb|vdbench)-(\d{1,9})vmdk-(\d{1,3})ws-([0-9]{1,9}[kKmMgG]?)-(\d{1,3})rdpct-(\d{1,3})randompct-(?:(\d{0,9})threads|(\d{1,9})lt)(?:-(\d{1,9})jobs)?(?:-\d+cpu-\d+cpupct)?(?:-(\d{1,3})compress)?(?:-(\d{1,3})dedupe)?$`)
)

// ParseName reads the name of a case or of its folder.
func ParseName(folder string) Name {
	n := Name{Group: NoGroup, File: folder}
	if m := started.FindStringSubmatch(n.File); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64) // of at most 11 digits
		n.Start, n.File = time.Unix(seconds, 0).UTC(), strings.TrimSuffix(n.File, m[0])
	}
	if m := grouped.FindStringSubmatch(n.File); m != nil {
		n.Group, n.File = number(m[1]), strings.TrimPrefix(n.File, m[0])
	}
	n.Load = parseLoad(n.File)
	return n
}

// parseLoad reads the name of a parameter file; nil for a name that HCIBench did not make.
func parseLoad(file string) *Load {
	m := made.FindStringSubmatch(file)
	if m == nil {
		return nil
	}
	l := &Load{
		Prefix: m[1], Tool: Fio, Disks: number(m[3]), WorkingSet: number(m[4]), Block: m[5], Read: number(m[6]), Random: number(m[7]),
		Threads: number(m[8]), Target: time.Duration(number(m[9])) * time.Microsecond, Jobs: number(m[10]), Compress: number(m[11]), Dedupe: number(m[12]),
	}
	if m[2] != Fio {
		l.Tool = Vdbench
	}
	return l
}

// number is a number of at most nine digits; 0 for none.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// String is the name of the folder of a case.
func (n Name) String() string {
	text := n.File
	if n.Group != NoGroup {
		text = fmt.Sprintf("group%d-%s", n.Group, text)
	}
	if !n.Start.IsZero() {
		text += fmt.Sprintf("-%d", n.Start.Unix())
	}
	return text
}

// File is the name that HCIBench gives the parameter file of a load.
func (l *Load) File() string {
	tool := l.Tool
	if tool == Vdbench {
		tool = "vdb"
	}
	text := fmt.Sprintf("%s-%dvmdk-%dws-%s-%drdpct-%drandompct-", tool, l.Disks, l.WorkingSet, l.Block, l.Read, l.Random)
	if l.Prefix != "" {
		text = l.Prefix + "-" + text
	}
	if l.Target > 0 {
		text += fmt.Sprintf("%dlt", l.Target.Microseconds())
	} else {
		text += fmt.Sprintf("%dthreads", l.Threads)
	}
	for _, option := range []struct {
		value int
		unit  string
	}{{l.Jobs, "jobs"}, {l.Compress, "compress"}, {l.Dedupe, "dedupe"}} {
		if option.value > 0 {
			text += fmt.Sprintf("-%d%s", option.value, option.unit)
		}
	}
	return text
}
