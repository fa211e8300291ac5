package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/service/reflector"
)

// source is a ping-pong in C, which this is held against.
const source = "internal/workload/network/testdata/pingpong.c"

// exchanges is how often the two take turns, and exchange how long each is on: many
// short turns, because a round trip of microseconds feels whoever else is on the CPU.
const (
	exchanges = 11
	exchange  = time.Second
)

// pingpong holds requests and responses over TCP against C: the same reflector, in
// turns, with the client on the reflector's CPU or on another.
func pingpong() ([]result, error) {
	for _, tool := range []string{"cc", "taskset"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%s is not installed, so that there is no ping-pong in C to compare with", tool)
		}
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "pingpong")
	if out, err := exec.Command("cc", "-O2", "-o", program, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile %s: %w: %s", source, err, out)
	}
	all, err := against(program, "one CPU", "0")
	if err != nil || runtime.NumCPU() < 2 {
		return all, err
	}
	more, err := against(program, "two CPUs", "1")
	return append(all, more...), err
}

// against has the two take turns on one CPU, with the reflector on CPU 0.
func against(program, where, cpu string) ([]result, error) {
	at, end, err := reflecting("0")
	if err != nil {
		return nil, err
	}
	defer end()
	var ours, theirs []map[string]float64
	for range exchanges {
		c, err := inC(at, program, cpu)
		if err != nil {
			return nil, err
		}
		theirs = append(theirs, c)
		values, err := drive{Workload: "network", At: at, Length: exchange}.by("taskset", "-c", cpu)
		if err != nil {
			return nil, err
		}
		if values["rate"] <= 0 {
			return nil, errors.New("nothing was answered")
		}
		values["time"] = 1 / values["rate"]
		ours = append(ours, values)
	}
	const cost = "client.cpu_per_operation"
	what := "TCP request and response on " + where + ": "
	return []result{
		{what + "time for one", middle(ours, "time"), "C", middle(theirs, "time"), "s"},
		{what + "CPU for one", middle(ours, cost), "C", middle(theirs, cost), "s"},
	}, nil
}

// reflecting starts a reflector on a CPU; end ends it.
func reflecting(cpu string) (at load.Endpoint, end func(), err error) {
	cmd := exec.Command("taskset", "-c", cpu, os.Args[0], reflector.Command)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(reflector.Options{Listen: "127.0.0.1:0", Threads: 1}.Line()), os.Stderr
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return at, nil, fmt.Errorf("start a reflector: %w", err)
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		end()
		return at, nil, fmt.Errorf("start a reflector: %w", err)
	}
	return load.Endpoint{Network: "tcp", Address: strings.TrimSpace(strings.TrimPrefix(line, "reflector listens at "))}, end, nil
}

// inC runs the ping-pong in C once.
func inC(at load.Endpoint, program, cpu string) (map[string]float64, error) {
	ctx := context.Background()
	conn, err := net.Dial(at.Network, at.Address)
	if err != nil {
		return nil, err
	}
	s, err := peer.Greet(ctx, conn)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ready, err := s.Prepare(ctx, peer.Test{Mode: peer.Echo, Network: "tcp", Flows: 1, Request: 1, Response: 1, NoDelay: true})
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("taskset", "-c", cpu, program, fmt.Sprint(ready.Port), fmt.Sprint(exchange.Seconds())).Output()
	if err != nil {
		return nil, fmt.Errorf("ping-pong in C: %w", err)
	}
	var rate, cost float64
	if _, err := fmt.Sscan(string(out), &rate, &cost); err != nil {
		return nil, fmt.Errorf("ping-pong in C says %q: %w", out, err)
	}
	return map[string]float64{"time": 1 / rate, "client.cpu_per_operation": cost}, nil
}
