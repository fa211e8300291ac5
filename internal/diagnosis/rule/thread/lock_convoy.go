package thread

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
)

const (
	// leastLocked is the number of threads or backends that wait for a lock on average, and
	// leastLockedShare their share of the active ones: short waits for a lock are seldom seen.
	leastLocked, leastLockedShare = 1.0, 0.25
	// leastConvoy is the number of threads of a database that wait for one another.
	leastConvoy = 4
)

// lockConvoy finds threads that wait for one mutex while CPUs are idle, and databases whose
// sessions wait for locks. Pools of idle threads sleep in futexes as well: on condition
// variables, or each on a word of its own, so they do not count.
var lockConvoy = diagnosis.Rule{
	Name: "lock_convoy", Area: diagnosis.CPU,
	Doc:      "threads of a program wait for the same lock, and CPUs are idle",
	Needs:    []string{"cpus", "processes"},
	Explains: []string{"rescheduling_storm", "too_few_workers", "cache_topology", "hot_thread"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		if e.Idle() < max(e.IdleRoom(), 0.1*e.Online()) {
			return nil
		}
		for _, p := range e.Programs() {
			if !e.Asked(p.Processes[0]) {
				continue
			}
			for _, check := range []func(*diagnosis.Evidence, *diagnosis.Program) (diagnosis.Finding, bool){lockedBackends, contention, lockedSessions} {
				if f, ok := check(e, p); ok {
					found = append(found, f)
					break
				}
			}
		}
		return found
	},
}

// contention judges the threads that wait for the same mutex.
func contention(e *diagnosis.Evidence, p *diagnosis.Program) (diagnosis.Finding, bool) {
	first := p.Processes[0]
	for _, one := range p.Processes {
		if one.Contended > first.Contended {
			first = one
		}
	}
	if waiting := first.Contended; waiting < leastLocked || waiting < leastLockedShare*(waiting+first.Busy()) || first.Busy() < 0.02 {
		return diagnosis.Finding{}, false
	}
	return diagnosis.Finding{
		Subject:    p.Subject(),
		Says:       "{waiting} threads of {subject} wait for the same mutex on average, while it uses {used} CPUs and {idle} are idle.",
		Confidence: diagnosis.Certain,
		Impact:     min(1, first.Contended/(first.Contended+first.Busy())),
		Evidence:   []diagnosis.Fact{diagnosis.Number("waiting", first.Contended), diagnosis.Number("used", first.Busy()), diagnosis.Number("idle", e.Idle()), diagnosis.Number("threads", float64(first.Threads))},
		Change: &diagnosis.Change{
			Says:    "split the lock that the threads of " + p.Name + " contend for (sharding), or shorten its critical section; fewer threads lose less",
			Command: fmt.Sprintf("perf lock contention -a -b -p %d sleep 10", first.PID),
		},
		Prediction: &diagnosis.Prediction{Low: 0, High: min(first.Contended, e.Idle()) / max(first.Busy(), 1e-9), Of: "throughput", Basis: "threads that wait, at most the idle CPUs / CPUs used"},
	}, true
}

// lockedBackends judges processes whose titles say that they wait for a lock.
func lockedBackends(_ *diagnosis.Evidence, p *diagnosis.Program) (diagnosis.Finding, bool) {
	locked, active := 0., 0.
	for _, one := range p.Processes {
		locked += one.Locked
		if one.Locked > 0 || one.Busy() >= 0.005 {
			active++
		}
	}
	if locked < leastLocked || locked < leastLockedShare*active {
		return diagnosis.Finding{}, false
	}
	return diagnosis.Finding{
		Subject:    p.Subject(),
		Says:       "{waiting} of {active} active backends of " + p.Name + " wait for locks of the database on average; they use {used} CPUs.",
		Confidence: diagnosis.Likely,
		Impact:     min(1, locked/active),
		Evidence:   []diagnosis.Fact{diagnosis.Number("waiting", locked), diagnosis.Number("active", active), diagnosis.Number("used", p.Busy)},
		Change: &diagnosis.Change{
			Says:    "shorten the transactions that hold the locks, or spread the updates over more rows",
			Command: `psql -c "SELECT pid, pg_blocking_pids(pid), query FROM pg_stat_activity WHERE wait_event_type = 'Lock'"`,
		},
		Prediction: &diagnosis.Prediction{Low: 0, High: locked / max(active-locked, 1), Of: "throughput", Basis: "backends that wait / backends that work"},
	}, true
}

// lockedSessions judges the threads of a database with a thread per connection.
func lockedSessions(e *diagnosis.Evidence, p *diagnosis.Program) (diagnosis.Finding, bool) {
	waiting, active := 0, 0
	for _, t := range p.Threads() {
		if t.Runs < 5 {
			continue // idle
		}
		active++
		if t.Locked >= 0.5 {
			waiting++
		}
	}
	if !database(p.Name) || waiting < leastConvoy || 5*waiting < 3*active || p.Busy < 0.05 || p.RunDelay > p.Busy || !quietDisks(e) {
		return diagnosis.Finding{}, false
	}
	return diagnosis.Finding{
		Subject:    p.Subject(),
		Says:       "{waiting} of {active} active threads of {subject} wait in futexes and not for the disk, and {idle} CPUs are idle.",
		Confidence: diagnosis.Possible,
		Impact:     min(1, float64(waiting)/float64(active)),
		Evidence:   []diagnosis.Fact{diagnosis.Number("waiting", float64(waiting)), diagnosis.Number("active", float64(active)), diagnosis.Number("idle", e.Idle()), diagnosis.Number("used", p.Busy)},
		Change: &diagnosis.Change{
			Says:    "shorten the transactions that hold row locks, or spread the updates over more rows",
			Command: "mariadb -e 'SHOW ENGINE INNODB STATUS'   # LATEST DETECTED DEADLOCK, TRANSACTIONS",
		},
	}, true
}

// database reports whether a program is a database server with a thread per connection.
func database(name string) bool {
	return slices.ContainsFunc([]string{"mysqld", "mariadbd"}, func(n string) bool { return strings.HasPrefix(name, n) })
}

// quietDisks reports whether no block device is in use most of the time: commits wait for it,
// and not for locks.
func quietDisks(e *diagnosis.Evidence) bool {
	for _, d := range e.Mean.Disks {
		if d.Busy >= 0.5 {
			return false
		}
	}
	return true
}
