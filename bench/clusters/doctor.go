package clusters

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/snapshot"
)

// mostDoctorMiB bounds the memory of the doctor on the largest cluster, from JSON.
const mostDoctorMiB = 200

// Diagnosing is what the program itself takes to read the largest cluster and report on it:
// CPU time and peak memory, as the kernel counts them.
func Diagnosing() ([]measured.Result, error) {
	program, dir, err := measured.Binary()
	defer os.RemoveAll(dir)
	if err != nil {
		return nil, err
	}
	skewed, _, _ := largest.make()
	spec := generate.Typical(largest.hosts, 7)
	spec.VMs = largest.vms
	typical, _ := generate.Cluster(spec)
	var out []measured.Result
	for _, of := range []struct {
		name string
		c    *cluster.Cluster
	}{{"typical", typical}, {"skewed", skewed}} {
		for _, format := range []struct {
			name  string
			limit float64 // seconds of CPU
			write func(io.Writer, *cluster.Cluster) error
		}{{"JSON", 1.5, snapshot.WriteJSON}, {"YAML", 3, snapshot.Write}} {
			file := filepath.Join(dir, of.name+"."+format.name)
			if err := writeTo(file, of.c, format.write); err != nil {
				return nil, err
			}
			cpu, peak, err := usage(program, "cluster", "doctor", file)
			if err != nil {
				return nil, err
			}
			what := fmt.Sprintf("doctor of %s, %s, from %s: ", largest.name, of.name, format.name)
			out = append(out, measured.Result{What: what + "CPU", Got: cpu, Against: "limit", Limit: format.limit, Unit: "s"}, measured.Result{What: what + "peak memory", Got: peak, Against: "limit", Limit: mostDoctorMiB, Unit: "MiB"})
		}
	}
	return out, nil
}

func writeTo(file string, c *cluster.Cluster, write func(io.Writer, *cluster.Cluster) error) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write the cluster: %w", err)
	}
	return errors.Join(write(f, c), f.Close())
}

// usage is the median CPU time of a command in seconds, and the largest of its peaks of
// resident memory in MiB, which are read while it runs: what wait4(2) tells includes the peak of
// this process. The command may end with a verdict.
func usage(name string, args ...string) (cpu, peak float64, err error) {
	times := make([]float64, passes)
	for i := range times {
		cmd := exec.Command(name, args...)
		if err := cmd.Start(); err != nil {
			return 0, 0, fmt.Errorf("run %v: %w", cmd.Args, err)
		}
		ended, most := make(chan error, 1), 0.
		go func() { ended <- cmd.Wait() }()
		for running := true; running; {
			select {
			case err = <-ended:
				running = false
			case <-time.After(time.Millisecond):
				if now, err := measured.Resident(strconv.Itoa(cmd.Process.Pid), "VmHWM"); err == nil {
					most = max(most, now/(1<<20))
				}
			}
		}
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			return 0, 0, fmt.Errorf("run %v: %w", cmd.Args, err)
		}
		if most == 0 {
			return 0, 0, fmt.Errorf("run %v: its memory was never read", cmd.Args)
		}
		times[i], peak = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), max(peak, most)
	}
	return measured.Middle(times), peak, nil
}
