package spark

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	engine "plimsoll/internal/spark"
)

// Settings are the settings of the service.
type Settings struct {
	Address string          `name:"address" doc:"address of a standalone master you provide, host:port; empty starts one"`
	Web     string          `name:"web" doc:"address of that master's web interface, host:port, which tells its workers"`
	Home    string          `name:"home" doc:"Python virtual environment with PySpark; empty is that of ./setup"`
	Java    string          `name:"java" doc:"path of Java; empty finds Java 17 or 11"`
	Workers int             `name:"workers" doc:"workers of the cluster, all on this machine, each with one executor" min:"1" max:"16"`
	Cores   int             `name:"cores" doc:"cores of each worker: tasks that it runs at once" min:"1" max:"64"`
	Memory  parameter.Bytes `name:"memory" doc:"memory of each worker, which is the heap of its executor" min:"512MiB"`
}

func defaults() Settings { return Settings{Workers: 2, Cores: 1, Memory: 900 << 20} }

const (
	besideHeap   = 250 << 20 // memory of a process with an executor besides its heap
	besideWorker = 190 << 20 // memory of a master or worker
)

// memory is what the processes take together.
func (s Settings) memory() int64 {
	return besideWorker + int64(s.Workers)*(int64(s.Memory)+besideHeap+besideWorker)
}

// fits checks the memory of the machine.
func (s Settings) fits(ctx context.Context, m platform.Machine) error {
	if have := service.Memory(ctx, m); have > 0 && s.memory() > int64(have)/10*9 {
		return fmt.Errorf("workers %d with memory %s take about %s, but this machine has %s: lower memory or workers", s.Workers, s.Memory, parameter.Bytes(s.memory()).About(), have.About())
	}
	return nil
}

// observed are the settings as the master tells them. What differs between workers is left out.
func observed(s engine.Status) map[string]string {
	all := s.Alive()
	told := map[string]string{"workers": strconv.Itoa(len(all))}
	if len(all) == 0 {
		return told
	}
	cores, memory := all[0].Cores, all[0].Memory
	for _, w := range all {
		if w.Cores != cores {
			cores = 0
		}
		if w.Memory != memory {
			memory = 0
		}
	}
	if cores > 0 {
		told["cores"] = strconv.Itoa(cores)
	}
	if memory > 0 {
		told["memory"] = parameter.Bytes(memory << 20).String()
	}
	return told
}
