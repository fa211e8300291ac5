package hoststat

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/hoststat/parse"
)

// knownTask is a thread as it was read last. One that was not scheduled between two readings is not read again.
type knownTask struct {
	rested            bool // not scheduled between the last two readings: the kernel does not show yet where a thread waits that it is switching out
	thread            Thread
	used, delay, runs float64 // as in schedstat
	involuntary       float64 // switches
	mutex             string  // that it waits for
}

// readTasks reads threads of a process, a limited number.
func (r *Reader) readTasks(p *Process, known *slow, folder string, most int) {
	if known.tasks == nil || known.threads != p.Threads {
		names, err := r.root.Names(folder + "task")
		if err != nil {
			return
		}
		known.tasks, known.threads = make([]string, 0, len(names)), p.Threads
		for _, name := range names {
			known.tasks = append(known.tasks, folder+"task/"+name+"/")
		}
	}
	waiting := map[string]float64{} // threads by the mutex that they wait for
	for _, at := range known.tasks[:min(most, len(known.tasks))] {
		k, ok := r.readTask(at)
		if !ok {
			known.threads = 0 // it has ended, and another one may have begun
			continue
		}
		p.waiting(&k.thread)
		if k.mutex != "" {
			waiting[k.mutex]++
			p.Contended = max(p.Contended, waiting[k.mutex])
		}
		p.Voluntary += k.thread.Voluntary
		p.Involuntary += k.involuntary
		p.RunDelay += k.thread.RunDelay
		p.Tasks = append(p.Tasks, k.thread)
	}
	slices.SortFunc(p.Tasks, func(a, b Thread) int { return cmp.Compare(a.TID, b.TID) })
}

// readTask reads a thread.
func (r *Reader) readTask(at string) (*knownTask, bool) {
	var used, delay, runs float64
	text, err := r.file(at + "schedstat") // Documentation/scheduler/sched-stats.rst
	f := parse.Numbers(make([]float64, 0, 3), text)
	counted, rested := err == nil && len(f) == 3, false
	if counted {
		used, delay, runs = f[0]*1e-9, f[1]*1e-9, f[2]
		k := r.tasks[at]
		rested = k != nil && k.runs == runs && k.used == used && k.delay == delay && k.thread.State != "R"
		if rested && k.rested {
			r.tasksNow[at] = k
			return k, true
		}
	}
	if text, err = r.file(at + "stat"); err != nil {
		return nil, false
	}
	of, ok := parseProcess(text)
	if !ok {
		return nil, false
	}
	k := &knownTask{rested: rested, used: used, delay: delay, runs: runs, thread: Thread{
		TID: of.PID, Started: of.Started, Name: of.Name, State: of.State, User: of.User, System: of.System, CPU: of.CPU, Cache: r.cacheOf(of.CPU),
	}}
	if counted {
		k.thread.User, k.thread.System = precise(used, of.User, of.System)
		k.thread.RunDelay, k.thread.Runs = delay, runs
	}
	if of.State != "R" {
		r.readWait(k, at)
	}
	if text, err = r.file(at + "status"); err == nil {
		if i := bytes.Index(text, []byte("voluntary_ctxt_switches:")); i >= 0 { // one of the last lines
			parse.Pairs(text[i:], func(name []byte, value float64) {
				switch string(name) {
				case "voluntary_ctxt_switches":
					k.thread.Voluntary = value
				case "nonvoluntary_ctxt_switches":
					k.involuntary = value
				}
			})
		}
	}
	r.tasksNow[at] = k
	return k, true
}

// readWait reads where a thread sleeps.
func (r *Reader) readWait(k *knownTask, at string) {
	text, err := r.file(at + "wchan")
	if err != nil {
		return
	}
	if k.thread.Wait = string(bytes.TrimSpace(text)); strings.HasPrefix(k.thread.Wait, "futex") {
		if text, err = r.file(at + "syscall"); err == nil {
			k.mutex = contended(text)
		}
	}
}
