package machines

import (
	"io/fs"
	"sync"
	"time"

	"plimsoll/internal/hoststat/energy"
	"plimsoll/internal/platform"
)

// Energy follows the energy that the processors of this host use. A nil one knows nothing.
type Energy struct {
	root fs.FS
	stop chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex
	course energy.Course
}

// Here reports whether all machines of a set are on this host: they are this host, or guests of it.
func (c Set) Here(under *Hypervisor) bool {
	for _, m := range c {
		local, ok := m.At.Machine.(platform.Local)
		if here := ok && local.Local(); !here && (!under.read() || under.Missing != "") {
			return false
		}
	}
	return len(c) > 0
}

// FollowEnergy takes readings of a host, whose root is a file system, until End; nil where it shows no energy.
func FollowEnergy(root fs.FS) *Energy {
	e := &Energy{root: root, stop: make(chan struct{})}
	if !e.read() {
		return nil
	}
	e.done.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-e.stop:
				return
			case <-tick.C:
				e.read()
			}
		}
	})
	return e
}

// read takes a reading. One that fails leaves a gap.
func (e *Energy) read() bool {
	at := time.Now()
	all, err := energy.Read(e.root)
	if err != nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.course.Add(at, all)
	return true
}

// Watts is the mean power between two instants; 0 where it is unknown.
func (e *Energy) Watts(from, to time.Time) float64 {
	if e == nil {
		return 0
	}
	e.read()
	e.mu.Lock()
	defer e.mu.Unlock()
	watts, _ := e.course.Watts(from, to)
	return watts
}

// End takes the last reading.
func (e *Energy) End() {
	if e == nil {
		return
	}
	close(e.stop)
	e.done.Wait()
	e.read()
}
