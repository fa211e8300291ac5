package memory

import (
	"fmt"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	// leastMissed is the share of allocations on another node than asked for, leastPages the
	// rate of them: some misses happen on any host, when a node is short for a moment.
	leastMissed, leastPages = 0.1, 1000.
	// leastRemote is the share of sampled accesses to memory of other nodes above the share that
	// chance gives on two nodes, leastSampled the rate of samples.
	leastRemote, leastSampled = 0.5, 200.
	// concentrated is the share of its CPU time from which on a program runs on one node.
	concentrated = 0.8
	// remoteCost is what remote memory costs a thread that uses it for all accesses: latency is
	// 1.4 to 2 times the local one (Lameter, "NUMA: An Overview", ACM Queue 2013).
	remoteCost = 0.3
)

// remoteNUMA finds memory on other nodes than the threads that use it. Page cache that fills a
// node, and services larger than a node, look alike: their misses are few, or cannot be avoided.
var remoteNUMA = diagnosis.Rule{
	Name: "remote_numa", Area: diagnosis.Memory,
	Doc:   "memory is on another NUMA node than the threads that use it",
	Needs: []string{"cpus", "processes", "nodes"},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		if len(e.Mean.Nodes) < 2 {
			return nil
		}
		if f, ok := misplaced(e); ok {
			return []diagnosis.Finding{f}
		}
		hit, miss := 0., 0.
		for _, n := range e.Mean.Nodes {
			hit, miss = hit+n.Stat["numa_hit"], miss+n.Stat["numa_miss"]
		}
		sampled, local := e.Mean.VM["numa_hint_faults"], e.Mean.VM["numa_hint_faults_local"]
		switch {
		case miss >= leastPages && miss >= leastMissed*(hit+miss):
			return []diagnosis.Finding{overflow(e, miss, hit)}
		case sampled >= leastSampled && sampled-local >= leastRemote*sampled:
			return []diagnosis.Finding{sampledRemote(e, (sampled-local)/sampled, sampled)}
		}
		return nil
	},
}

// overflow is a node without free memory for its own threads.
func overflow(e *diagnosis.Evidence, miss, hit float64) diagnosis.Finding {
	return diagnosis.Finding{
		Subject:    subjectOf(e),
		Says:       "{missed} of the memory allocated came from another NUMA node than asked for, {pages} pages: the node has no free memory.",
		Confidence: diagnosis.Likely,
		Impact:     remoteCost * miss / (hit + miss),
		Evidence:   []diagnosis.Fact{diagnosis.Share("missed", miss/(hit+miss)), diagnosis.Rate("pages", miss)},
		Change: &diagnosis.Change{
			Says:    "interleave the memory of the largest program over the nodes, or give each node an instance of its own",
			Command: "numactl --interleave=all PROGRAM",
		},
	}
}

// sampledRemote is what the kernel's NUMA balancing samples.
func sampledRemote(e *diagnosis.Evidence, remote, sampled float64) diagnosis.Finding {
	return diagnosis.Finding{
		Subject:    subjectOf(e),
		Says:       "{remote} of the memory accesses that the kernel sampled went to another NUMA node ({samples}).",
		Confidence: diagnosis.Possible,
		Impact:     remoteCost * remote,
		Evidence:   []diagnosis.Fact{diagnosis.Share("remote", remote), diagnosis.Rate("samples", sampled)},
		Change:     &diagnosis.Change{Says: "keep the largest program and its memory on one node, if it fits", Command: "numactl --cpunodebind=0 --membind=0 PROGRAM"},
	}
}

func subjectOf(e *diagnosis.Evidence) string {
	if all := e.Programs(); len(all) > 0 {
		return all[0].Subject()
	}
	return ""
}

// placement is where a program runs and where its memory is.
type placement struct {
	process *hoststat.Process
	home    int     // node that it runs on
	remote  float64 // share of its memory that is on other nodes, weighted by CPU time
	memory  float64 // in bytes
}

// misplaced finds a program that runs on one node with its memory on others.
func misplaced(e *diagnosis.Evidence) (diagnosis.Finding, bool) {
	for _, p := range e.Programs() {
		if p.Busy < 0.2 || !e.Asked(p.Processes[0]) {
			continue
		}
		at, known := byProcess(e, p)
		if !known {
			at, known = byGroup(e, p)
		}
		if !known || at.memory < 64<<20 || at.remote < leastRemote {
			continue
		}
		return diagnosis.Finding{
			Subject:    p.Subject(),
			Says:       fmt.Sprintf("{subject} runs on NUMA node %d, but {remote} of its memory is on other nodes.", at.home),
			Confidence: diagnosis.Likely,
			Impact:     remoteCost * at.remote,
			Evidence:   []diagnosis.Fact{diagnosis.Share("remote", at.remote), diagnosis.Bytes("memory", at.memory), diagnosis.Number("used", p.Busy)},
			Change: &diagnosis.Change{
				Says:    "move the memory of " + p.Name + " to the node that it runs on, and keep both there",
				Command: fmt.Sprintf("migratepages %d %s %d", at.process.PID, otherNodes(e.Mean, at.home), at.home),
			},
			Prediction: &diagnosis.Prediction{Low: 0, High: remoteCost * at.remote / (1 - remoteCost*at.remote), Of: "throughput of " + p.Name, Basis: "share of remote accesses at 1.4 times the latency of local ones"},
		}, true
	}
	return diagnosis.Finding{}, false
}

// byProcess judges the memory of each process of a program: those that run on one node. It is
// known if it is so of those that use most of the program's CPU time.
func byProcess(e *diagnosis.Evidence, p *diagnosis.Program) (at placement, known bool) {
	judged, running, worst := 0., 0., 0.
	for _, one := range p.Processes {
		busy := byNode(e, one.Tasks)
		running += sum(busy)
		if len(one.NodeMemory) == 0 {
			continue
		}
		judged += sum(busy)
		home, remote, together := remoteShare(busy, one.NodeMemory)
		if !together {
			continue
		}
		at.memory += sum(one.NodeMemory)
		at.remote += sum(busy) * remote
		if cost := sum(busy) * remote; at.process == nil || cost > worst {
			at.process, at.home, worst = one, home, cost
		}
	}
	at.remote /= max(running, 1e-9)
	return at, judged >= concentrated*running && running >= 0.1
}

// byGroup judges the memory of a program's control group.
func byGroup(e *diagnosis.Evidence, p *diagnosis.Program) (at placement, known bool) {
	first := p.Processes[0]
	g := e.Group(first.MemoryGroup)
	if g == nil || len(g.NodeMemory) == 0 {
		g = e.Group(p.Group)
	}
	busy := byNode(e, p.Threads())
	if g == nil || len(g.NodeMemory) < 2 || sum(busy) < 0.1 {
		return at, false
	}
	home, remote, together := remoteShare(busy, g.NodeMemory)
	return placement{first, home, remote, sum(g.NodeMemory)}, together
}

// remoteShare is the node with most of some CPU time, and the share of memory on other nodes
// than the CPU time; together is false if the CPU time is spread over nodes.
func remoteShare(busy, memory []float64) (home int, remote float64, together bool) {
	running, total := max(sum(busy), 1e-9), max(sum(memory), 1)
	for n, b := range busy {
		if b > busy[home] {
			home = n
		}
		here := 0.
		if n < len(memory) {
			here = memory[n]
		}
		remote += b / running * (1 - here/total)
	}
	return home, remote, len(busy) > 0 && busy[home] >= concentrated*running
}

// byNode is the CPU time of threads on each node.
func byNode(e *diagnosis.Evidence, threads []hoststat.Thread) []float64 {
	busy := make([]float64, len(e.Mean.Nodes))
	for _, t := range threads {
		if t.CPU < len(e.Facts.CPUs) && e.Facts.CPUs[t.CPU].Node < len(busy) {
			busy[e.Facts.CPUs[t.CPU].Node] += t.Busy()
		}
	}
	return busy
}

func otherNodes(i *hoststat.Interval, home int) string {
	var nodes []string
	for n := range i.Nodes {
		if n != home {
			nodes = append(nodes, fmt.Sprint(n))
		}
	}
	return strings.Join(nodes, ",")
}

// sum adds up amounts per node.
func sum(amounts []float64) (total float64) {
	for _, amount := range amounts {
		total += amount
	}
	return total
}
