package thread

import (
	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	// leastHot is the CPU time per second that a thread at its limit uses at least.
	leastHot = 0.8
	// mostBeside is the share of the hot thread's time that all others of its program use.
	mostBeside = 0.5
)

// hotThread finds a service of which one thread uses a whole CPU while the others wait and CPUs
// are idle. A job that computes on one thread looks alike, as does a client at its limit: the
// first is silent, unless it was asked about, and client_limit explains the second.
var hotThread = diagnosis.Rule{
	Name: "hot_thread", Area: diagnosis.CPU,
	Doc:      "one thread of a program uses a whole CPU, and CPUs are idle",
	Needs:    []string{"cpus", "processes"},
	Explains: []string{"lock_convoy", "listen_queue", "rescheduling_storm"},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		if e.Idle() < e.IdleRoom() {
			return nil
		}
		for _, p := range e.Programs() {
			all := p.Threads()
			if len(all) == 0 || !atLimit(&all[0]) || p.Busy-all[0].Busy() > mostBeside || p.Helper() || !e.Asked(p.Processes[0]) {
				continue
			}
			t := &all[0]
			if systemOf(t) < diagnosis.KernelWork && len(e.Focus) == 0 && !helpers(all[1:]) && !e.Answers(p) {
				continue
			}
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Says:       "Thread " + t.Name + " of {subject} uses {of a CPU} of one CPU and limits the program, while {idle} CPUs are idle.",
				Confidence: diagnosis.Likely,
				Impact:     min(1, e.Idle()/e.Online()),
				Evidence:   []diagnosis.Fact{diagnosis.Share("of a CPU", t.Busy()), diagnosis.Number("idle", e.Idle()), diagnosis.Number("used", p.Busy)},
				Change:     &diagnosis.Change{Says: "give " + p.Name + " more threads or worker processes, or run several instances" + hint(p.Name)},
				Prediction: &diagnosis.Prediction{Low: 0, High: e.Idle() / max(t.Busy(), 1e-9), Of: "throughput of " + p.Name, Basis: "idle CPUs / CPUs used, if the work can be divided"},
			})
		}
		return found
	},
}

func systemOf(t *hoststat.Thread) float64 { return t.System / max(t.Busy(), 1e-9) }

// helpers reports whether other threads of a program wait for the hot one: they work a little,
// and often.
func helpers(others []hoststat.Thread) bool {
	n := 0
	for i := range others {
		if others[i].Runs >= 50 && others[i].Busy() >= 0.005 {
			n++
		}
	}
	return n >= 2
}

// settings of well-known programs for their number of threads or workers.
var workerSettings = []struct{ program, setting string }{
	{"nginx", "worker_processes auto"}, {"redis-server", "a cluster of instances, or io-threads"}, {"valkey-server", "a cluster of instances, or io-threads"},
	{"memcached", "-t"}, {"haproxy", "nbthread"}, {"gunicorn", "--workers"}, {"uwsgi", "processes"}, {"puma", "workers"}, {"php-fpm", "pm.max_children"},
	{"apache2", "MaxRequestWorkers"}, {"httpd", "MaxRequestWorkers"}, {"envoy", "--concurrency"}, {"varnishd", "thread_pool_max"}, {"unicorn", "worker_processes"},
	{"lighttpd", "server.max-worker"}, {"caddy", "GOMAXPROCS"}, {"node", "the cluster module"},
}

// hint names the setting of a well-known program.
func hint(program string) string {
	for _, w := range workerSettings {
		if len(program) >= len(w.program) && program[:len(w.program)] == w.program {
			return " (" + w.setting + ")"
		}
	}
	return ""
}
