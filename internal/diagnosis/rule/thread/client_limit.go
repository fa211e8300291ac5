package thread

import (
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// clients are well-known load generators.
var clients = []string{
	"wrk", "wrk2", "redis-benchmark", "valkey-benchmark", "pgbench", "sysbench", "ab", "hey", "k6", "fio", "iperf", "iperf3", "netperf", "vegeta", "oha",
	"memtier_benchmark", "memtier_benchma", "mysqlslap", "mariadb-slap", "cassandra-stress", "ycsb", "h2load", "siege", "bombardier", "httperf", "locust",
	"fortio", "ghz", "mc-crusher", "mutilate", "qperf", "uperf", "sockperf", "plimsoll", "plimsoll-agent", "nosqlbench", "hammerdb", "tsung", "drill", "autocannon",
}

// leastCalls are the segments with data, per second of CPU time, of a program that does little but
// send requests and read answers.
const leastCalls = 2000.

// clientLimit finds load generators whose busy threads are all at their limit while CPUs are
// idle and no thread of a server is at its own. A server at its limit beside a busy client looks
// alike and is hot_thread or too_few_workers.
var clientLimit = diagnosis.Rule{
	Name: "client_limit", Area: diagnosis.Load,
	Doc:      "the load generator is at its limit, and what it measures is not",
	Needs:    []string{"cpus", "processes"},
	Explains: []string{"hot_thread", "too_few_workers"},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		if e.Idle() < e.IdleRoom() || serverAtLimit(e) {
			return nil
		}
		for _, p := range programs(e) {
			if !client(p) && !generates(e, p) && !calls(e, p) {
				continue
			}
			limited, others, busy := 0, 0, 0.
			for _, t := range p.Threads() {
				switch {
				case atLimit(&t):
					limited, busy = limited+1, busy+t.Busy()
				case t.Busy() >= 0.1:
					others++
				}
			}
			if limited == 0 && len(p.Processes) == 1 && serial(e, p.Processes[0]) {
				limited, others, busy = 1, 0, p.Busy
			}
			if limited == 0 || others > 0 || float64(limited) >= e.Online() {
				continue
			}
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Says:       "The load generator {subject} is at its limit: its {threads} " + diagnosis.Plural(float64(limited), "busy thread uses", "busy threads use") + " {used} CPUs, while no thread of the server is at its limit and {idle} CPUs are idle.",
				Confidence: diagnosis.Likely,
				Impact:     min(1, e.Idle()/e.Online()),
				Evidence:   []diagnosis.Fact{diagnosis.Number("threads", float64(limited)), diagnosis.Number("used", busy), diagnosis.Number("idle", e.Idle())},
				Change:     &diagnosis.Change{Says: "give the load generator more threads, run several of them, or run it on another machine: the rate measured is its own"},
				Prediction: &diagnosis.Prediction{Low: 0, High: e.Idle() / busy, Of: "rate measured", Basis: "idle CPUs / CPUs used by the load generator"},
			})
		}
		return found
	},
}

// client reports whether a program is a well-known load generator.
func client(p *diagnosis.Program) bool { return slices.Contains(clients, strings.ToLower(p.Name)) }

// generates reports whether a program is one of the processes of plimsoll's load.
func generates(e *diagnosis.Evidence, p *diagnosis.Program) bool {
	return slices.Contains(e.Generators, p.Processes[0].PID)
}

// programs are all programs, those of plimsoll that generate load included.
func programs(e *diagnosis.Evidence) []*diagnosis.Program {
	all := *e
	all.Own = slices.DeleteFunc(slices.Clone(e.Own), func(pid int) bool { return slices.Contains(e.Generators, pid) })
	return all.Programs()
}

// serverAtLimit reports whether a thread of a program that is no load generator is at its limit,
// or waits long for a CPU.
func serverAtLimit(e *diagnosis.Evidence) bool {
	for _, p := range e.Programs() {
		if client(p) || generates(e, p) || calls(e, p) || e.Computes(p) {
			continue
		}
		for _, t := range p.Threads() {
			if atLimit(&t) || t.Busy() >= 0.2 && t.RunDelay >= t.Busy() {
				return true
			}
		}
		if slices.ContainsFunc(p.Processes, func(one *hoststat.Process) bool { return serial(e, one) }) {
			return true
		}
	}
	return false
}

// calls reports whether a program opens connections with much traffic, and serves none.
func calls(e *diagnosis.Evidence, p *diagnosis.Program) bool {
	sent := 0.
	for _, f := range e.Flows(p) {
		if f.Port != 0 {
			return false
		}
		sent += f.Segments + f.SegmentsIn
	}
	return sent >= leastCalls*p.Busy && sent > 0 && p.SystemShare() >= diagnosis.KernelWork
}
