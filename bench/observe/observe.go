// Package observe measures what reading the state of a host costs.
package observe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/interval"
)

const (
	cpus, processes, active = 64, 200, 20
	readings                = 60
	mostCPU                 = 0.5 // % of a core at a reading per second
	mostMemory              = 30  // MB
)

// Reading measures readings of a large synthetic host in a tmpfs, and a check of this host.
func Reading() ([]measured.Result, error) {
	synthetic, err := large()
	if err != nil {
		return nil, err
	}
	check, err := checked()
	return append(synthetic, check...), err
}

// large reads a host of many CPUs and processes, some of them active.
func large() ([]measured.Result, error) {
	folder, err := os.MkdirTemp("/dev/shm", "plimsoll-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	host := newHost(folder)
	if err := host.write(0); err != nil {
		return nil, err
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	reader := hoststat.NewReader(hoststat.At(folder))
	var series interval.Series
	series.Add(reader.Read(0))
	var costs []float64
	for n := 1; n <= readings; n++ {
		if err := host.write(n); err != nil {
			return nil, err
		}
		begin, err := measured.Work()
		if err != nil {
			return nil, err
		}
		for range hoststat.StepsPerReading - 1 {
			reader.Step()
		}
		series.Add(reader.Read(float64(n)))
		end, err := measured.Work()
		if err != nil {
			return nil, err
		}
		costs = append(costs, end-begin)
	}
	if mean := series.Mean(); len(mean.CPUs) != cpus || len(mean.Processes) < active {
		return nil, fmt.Errorf("the synthetic host has %d CPUs and %d active processes", len(mean.CPUs), len(mean.Processes))
	}
	runtime.ReadMemStats(&after)
	name := fmt.Sprintf("%d CPUs, %d processes, %d of them active", cpus, processes, active)
	return []measured.Result{
		{What: "CPU at 1 Hz, " + name, Got: 100 * measured.Middle(costs), Against: "limit", Limit: mostCPU, Unit: "% of a core"},
		{What: fmt.Sprintf("memory of %d readings", readings), Got: float64(after.HeapSys+after.StackSys-before.HeapSys-before.StackSys) / 1e6, Against: "limit", Limit: mostMemory, Unit: "MB"},
	}, nil
}

// checked runs plimsoll check on this host. A run of the shortest time is taken off: what the
// program costs to start.
func checked() ([]measured.Result, error) {
	binary, folder, err := measured.Binary()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	run := func(args ...string) (cpu, memory float64, err error) {
		cmd := exec.Command(binary, args...)
		if err := cmd.Start(); err != nil {
			return 0, 0, err
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }() // status 1 is findings
		for running := true; running; {
			select {
			case <-ended:
				running = false
			case <-time.After(5 * time.Millisecond):
				memory = max(memory, resident(cmd.Process.Pid))
			}
		}
		if cmd.ProcessState.ExitCode() > 1 {
			return 0, 0, fmt.Errorf("run plimsoll %s: %v", args[0], cmd.ProcessState)
		}
		return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), memory, nil
	}
	const short, long = 2 * time.Second, 22 * time.Second
	_, base, err := run("version")
	if err != nil {
		return nil, err
	}
	least, _, err := run("check", "--json", "--for", short.String())
	if err != nil {
		return nil, err
	}
	most, memory, err := run("check", "--json", "--for", long.String())
	if err != nil {
		return nil, err
	}
	listed, _ := filepath.Glob("/proc/[0-9]*")
	name := fmt.Sprintf("plimsoll check, this host: %d CPUs, %d processes", runtime.NumCPU(), len(listed))
	return []measured.Result{
		{What: "CPU at 1 Hz, " + name, Got: 100 * (most - least) / (long - short).Seconds(), Against: "limit", Limit: mostCPU, Unit: "% of a core"},
		{What: "memory of " + strconv.Itoa(int(long.Seconds())) + " readings beyond that of plimsoll version, " + name, Got: memory - base, Against: "limit", Limit: mostMemory, Unit: "MB"},
	}, nil
}

// resident is the resident memory of a process in MB; 0 if it has ended. What the kernel reports
// to the parent includes what the parent had itself.
func resident(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, pages float64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / 1e6
}
