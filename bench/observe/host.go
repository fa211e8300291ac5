package observe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// host is a tree of files as /proc and /sys of a large host.
type host struct{ folder string }

func newHost(folder string) *host { return &host{folder} }

func (h *host) file(name string, text []byte) error {
	at := filepath.Join(h.folder, name)
	if err := os.WriteFile(at, text, 0o600); !os.IsNotExist(err) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	return os.WriteFile(at, text, 0o600)
}

// write writes the host as it is after some seconds. Idle processes stay as they are.
func (h *host) write(second int) error {
	files := map[string][]byte{"proc/stat": stat(second), "proc/softirqs": table(second, "HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU"), "proc/interrupts": interrupts(second)}
	for pid := 1; pid <= processes; pid++ {
		if second == 0 || pid <= active {
			process(files, pid, second)
		}
	}
	if second == 0 {
		h.once(files)
	}
	for name, text := range files {
		if err := h.file(name, text); err != nil {
			return err
		}
	}
	return nil
}

// once is what does not change: as this host has it where it does not depend on CPUs.
func (h *host) once(files map[string][]byte) {
	for _, name := range []string{
		"proc/vmstat", "proc/meminfo", "proc/diskstats", "proc/net/dev", "proc/net/snmp", "proc/net/netstat", "proc/pressure/cpu", "proc/pressure/io", "proc/pressure/memory",
	} {
		if text, err := os.ReadFile("/" + name); err == nil {
			files[name] = text
		}
	}
	files["proc/self/mountinfo"] = []byte("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	files["sys/devices/system/cpu/online"] = fmt.Appendf(nil, "0-%d\n", cpus-1)
	for n := range cpus {
		at := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", n)
		files[at+"topology/thread_siblings_list"] = fmt.Appendf(nil, "%d-%d\n", n/2*2, n/2*2+1)
		files[at+"cache/index3/type"], files[at+"cache/index3/shared_cpu_list"] = []byte("Unified\n"), fmt.Appendf(nil, "%d-%d\n", n/8*8, n/8*8+7)
		for state := range 4 {
			idle := fmt.Sprintf("%scpuidle/state%d/", at, state)
			files[idle+"name"], files[idle+"latency"], files[idle+"time"], files[idle+"usage"] = []byte("C6\n"), []byte("133\n"), []byte("5\n"), []byte("5\n")
		}
	}
	for service := range active {
		at := fmt.Sprintf("sys/fs/cgroup/system.slice/app%d.service/", service)
		for name, text := range map[string]string{
			"cpu.max": "max 100000\n", "cpu.stat": "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n", "memory.current": "1\n", "memory.max": "max\n", "memory.high": "max\n",
			"memory.stat": strings.Repeat("workingset_refault_file 1\n", 50), "memory.events": "high 0\nmax 0\n", "memory.pressure": "some avg10=0 total=0\nfull avg10=0 total=0\n",
			"io.pressure": "some avg10=0 total=0\nfull avg10=0 total=0\n", "io.max": "", "io.stat": "8:0 rbytes=1 wbytes=1 rios=1 wios=1\n", "cpuset.cpus.effective": "0-63\n", "memory.swap.current": "0\n",
		} {
			files[at+name] = []byte(text)
		}
	}
}

func stat(second int) []byte {
	var b bytes.Buffer
	for n := range cpus {
		fmt.Fprintf(&b, "cpu%d %d 0 %d %d 10 0 5 0 0 0\n", n, 1000+30*second, 500+10*second, 90000+60*second)
	}
	fmt.Fprintf(&b, "intr %d%s\nctxt %d\nprocesses 1234\nprocs_running 5\nprocs_blocked 0\n", second, strings.Repeat(" 123", 600), 100000*second)
	return b.Bytes()
}

// table is counts per CPU in rows.
func table(second int, rows string) []byte {
	var b bytes.Buffer
	b.WriteString(strings.Repeat("       CPU0", cpus) + "\n")
	for name := range strings.FieldsSeq(rows) {
		fmt.Fprintf(&b, "%8s:", name)
		for n := range cpus {
			fmt.Fprintf(&b, " %10d", 1000*n+100*second)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// interrupts is a table with two devices of a queue per CPU.
func interrupts(second int) []byte {
	var b bytes.Buffer
	b.WriteString(strings.Repeat("       CPU0", cpus) + "\n")
	for irq := range 2 * cpus {
		fmt.Fprintf(&b, "%4d:", irq)
		for n := range cpus {
			count := 0
			if n == irq%cpus {
				count = 5000 * (second + 1)
			}
			fmt.Fprintf(&b, " %10d", count)
		}
		fmt.Fprintf(&b, "  PCI-MSIX-0000:00:01.0 %d-edge eth0-TxRx-%d\n", irq, irq)
	}
	rows := table(second, "NMI LOC SPU PMI IWI RTR RES CAL TLB TRM THR DFR MCE MCP")
	b.Write(rows[slices.Index(rows, '\n')+1:])
	return b.Bytes()
}

// process adds the files of a process with two threads.
func process(files map[string][]byte, pid, second int) {
	line := func(id int) []byte {
		return fmt.Appendf(nil, "%d (app%d) S 1 7 7 0 -1 4194560 10 0 2 0 %d %d 0 0 20 0 2 0 100 1000 50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 %d 0 0 0 0 0 0 0 0 0 0 0 0 0\n", id, pid, 20*second, 10*second, id%cpus)
	}
	at := fmt.Sprintf("proc/%d/", pid)
	files[at+"stat"] = line(pid)
	if pid > active {
		return
	}
	files[at+"status"] = []byte("Name:\tapp\n" + strings.Repeat("VmPeak:\t  5 kB\n", 20) + "Cpus_allowed_list:\t0-63\n")
	files[at+"io"] = fmt.Appendf(nil, "rchar: %d\nwchar: 5\nsyscr: 5\nsyscw: 5\nread_bytes: 5\nwrite_bytes: 5\ncancelled_write_bytes: 0\n", second)
	files[at+"cmdline"], files[at+"cgroup"] = []byte("app\x00--serve\x00"), fmt.Appendf(nil, "0::/system.slice/app%d.service\n", pid%active)
	for thread := range 2 {
		task := fmt.Sprintf("%stask/%d/", at, pid+1000*thread)
		files[task+"stat"], files[task+"schedstat"] = line(pid+1000*thread), fmt.Appendf(nil, "%d %d %d\n", 150_000_000*second, 1000*second, 500*second)
		files[task+"status"], files[task+"wchan"] = fmt.Appendf(nil, "voluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t5\n", 500*second), []byte("ep_poll")
	}
}
