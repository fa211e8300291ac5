package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/nbd"
)

// disks have servers of the same file take turns, so many times and so long each.
const (
	diskTurns = 7
	diskTurn  = time.Second
	diskSize  = 64 << 20
)

// contender is one server, with what fio measured of it.
type contender struct {
	name  string
	start func(dir, file string) (uri string, end func(), err error)
	got   map[int][]float64 // seconds for one read, by depth
}

// networkDisks holds the NBD server against nbdkit, and its filters against none, by fio's own NBD client.
func networkDisks() ([]result, error) {
	for _, tool := range []string{"fio", "nbdkit"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%s is not installed: run ./setup test", tool)
		}
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "disk")
	if err := os.WriteFile(file, bytes.Repeat([]byte("plimsoll"), diskSize/8), 0o600); err != nil {
		return nil, err
	}
	all := []*contender{
		{name: "nbdkit file", start: kit}, {name: "own", start: ownDisk()}, {name: "own, null filter", start: ownDisk("null")},
		{name: "own, null filter in a process of its own", start: ownDisk("daemon:null")},
	}
	for _, c := range all {
		c.got = map[int][]float64{}
	}
	depths := []int{1, 16}
	for range diskTurns {
		for _, c := range all {
			for _, depth := range depths {
				if err := c.turn(dir, file, depth); err != nil {
					return nil, fmt.Errorf("%s: %w", c.name, err)
				}
			}
		}
	}
	var results []result
	for _, depth := range depths {
		what := fmt.Sprintf("4 KiB random read, %d outstanding: time for one, ", depth)
		middleOf := func(i int) float64 { return measured.Middle(all[i].got[depth]) }
		for i := 1; i < len(all); i++ {
			against := min(i-1, 1) // own against nbdkit, filters against own
			results = append(results, result{what + all[i].name, 1e6 * middleOf(i), all[against].name, 1e6 * middleOf(against), "us"})
		}
	}
	return results, nil
}

// turn lets fio read for a while.
func (c *contender) turn(dir, file string, depth int) error {
	uri, end, err := c.start(dir, file)
	if err != nil {
		return err
	}
	defer end()
	out, err := exec.Command("fio", "--name=bench", "--ioengine=nbd", "--uri="+uri, "--rw=randread", "--bs=4k", fmt.Sprint("--iodepth=", depth),
		"--time_based", fmt.Sprint("--runtime=", diskTurn), fmt.Sprint("--size=", diskSize), "--output-format=json").Output()
	if err != nil {
		return fmt.Errorf("fio: %w", err)
	}
	var said struct {
		Jobs []struct{ Read struct{ IOPS float64 } }
	}
	if i := bytes.IndexByte(out, '{'); i < 0 {
		return errors.New("fio says nothing")
	} else if err := json.NewDecoder(bytes.NewReader(out[i:])).Decode(&said); err != nil {
		return fmt.Errorf("read what fio says: %w", err)
	}
	if len(said.Jobs) != 1 || said.Jobs[0].Read.IOPS <= 0 {
		return errors.New("fio read nothing")
	}
	c.got[depth] = append(c.got[depth], 1/said.Jobs[0].Read.IOPS)
	return nil
}

// ownDisk starts this program as the server.
func ownDisk(filters ...string) func(dir, file string) (string, func(), error) {
	return func(dir, file string) (string, func(), error) {
		o := nbd.Order{Path: filepath.Join(dir, "own"), File: file, Filters: filters}
		cmd := exec.Command(os.Args[0], nbd.Command)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return "", nil, err
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return "", nil, fmt.Errorf("start a server: %w", err)
		}
		end := func() {
			_ = in.Close()
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait()
		}
		_, _ = in.Write(o.Line()) // seen by what it says
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			end()
			return "", nil, fmt.Errorf("start a server: %w", err)
		}
		return "nbd+unix:///?socket=" + o.Path, end, nil
	}
}

// kit starts nbdkit.
func kit(dir, file string) (string, func(), error) {
	socket := filepath.Join(dir, "kit")
	_ = os.Remove(socket)
	cmd := exec.Command("nbdkit", "-f", "--exit-with-parent", "-U", socket, "file", file)
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start nbdkit: %w", err)
	}
	end := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for range 500 {
		if _, err := os.Stat(socket); err == nil {
			return "nbd+unix:///?socket=" + socket, end, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	end()
	return "", nil, errors.New("nbdkit does not listen")
}
