package cpu

import (
	"cmp"
	"os"
	"slices"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	// leastStarts is the rate of new processes and threads below which starting them costs little.
	leastStarts = 20.
	// leastSpent is the CPUs that short-lived processes use at least, and leastSpentShare their share
	// of the host's.
	leastSpent      = 0.25
	leastSpentShare = 0.05
	// mostEach is the CPU time of a process above which it does more than start and end, mostServed
	// that of one that a server starts for a request: an interpreter starts in some 50 ms.
	mostEach, mostServed = 0.02, 0.1
	// leastFaults is the rate of page faults per second of CPU time, of 4 KiB pages, that start-up has:
	// a copied or executed process touches each of its pages for the first time. Shells, awk, grep and
	// Python have more than 100,000, and compilers at work 35,000.
	leastFaults = 80_000.
	// mostStartUp is the CPU time of a process that hardly does more than start and end, on slow CPUs too: half as many faults do
	// for it. A shell's take 1 ms, compilers 20 ms and more.
	mostStartUp = 0.002
	// connects is the share of new connections in the processes started from which they are why.
	connects = 0.3
)

// shortLivedProcesses finds programs whose children use CPUs mostly to start and to end. No list of
// processes shows them: they have ended before it is read. A build looks alike: its processes
// are as many, and most of their time is work.
var shortLivedProcesses = diagnosis.Rule{
	Name: "short_lived_processes", Area: diagnosis.CPU,
	Doc:   "short-lived processes use CPUs, mostly for start-up",
	Needs: []string{"cpus", "processes"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, p := range diagnosis.By(e.Services(), func(p *diagnosis.Program) float64 { return p.Reaped }) {
			if p.Reaped < max(leastSpent, leastSpentShare*e.Online()) {
				break
			}
			starter := slices.MaxFunc(p.Processes, func(a, b *hoststat.Process) int { return cmp.Compare(a.Reaped, b.Reaped) })
			pages, most, serves := float64(os.Getpagesize())/4096, mostEach, e.Listens(p)
			if serves {
				most = mostServed
			}
			least := leastFaults
			if p.Reaped <= mostStartUp*e.Mean.Forks {
				least /= 2
			}
			if e.Mean.Forks < leastStarts || p.Reaped > most*e.Mean.Forks || p.Faulted*pages < least*p.Reaped || !e.Asked(starter) {
				continue
			}
			f := diagnosis.Finding{
				Subject:    diagnosis.Subject(starter),
				Confidence: diagnosis.Likely,
				Impact:     min(1, p.Reaped/e.Online()),
				Says:       "Short-lived processes of {subject} use {used} of {CPUs} CPUs, mostly for start-up: they have {faults} page faults per second of CPU time. The host starts {starts} processes and threads per second.",
				Evidence: []diagnosis.Fact{
					diagnosis.Number("used", p.Reaped), diagnosis.Number("CPUs", e.Online()), diagnosis.Number("faults", p.Faulted/p.Reaped),
					diagnosis.Number("starts", e.Mean.Forks), diagnosis.Number("used by itself", p.Busy),
				},
				Change: &diagnosis.Change{Says: "replace the processes that " + p.Name + " starts by a long-running one", Command: started},
			}
			if serves {
				f.Impact = p.Reaped / (p.Reaped + p.Busy)
				f.Change = &diagnosis.Change{Says: "keep the processes of " + p.Name + " between requests: connections that clients keep, a pool of them, or workers that stay"}
			}
			if p.Name == "postgres" {
				f.Change.Says = "keep connections to PostgreSQL open: it starts a process for each. Use the pool of the client, or pgbouncer"
				if e.Mean.Net["Tcp.PassiveOpens"] < connects*e.Mean.Forks {
					f.Change.Says += "; if they are open already, lower max_parallel_workers_per_gather: each parallel query starts processes too"
				}
			}
			if e.Dominates(p.Reaped) {
				f.Explains = []string{"cpu_saturated"}
			}
			found = append(found, f)
		}
		return found
	},
}

// started is the command that prints the programs that are started.
const started = "perf trace -a --no-syscalls -e sched:sched_process_exec sleep 10"
