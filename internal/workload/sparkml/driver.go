package sparkml

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/platform"
	"plimsoll/internal/spark"
	"plimsoll/internal/workload"
)

// ready is what the driver tells when the data is cached.
type ready struct {
	Start      float64  `json:"start"` // s
	Data       float64  `json:"data"`  // s
	Rows       int      `json:"rows"`
	Partitions int      `json:"partitions"`
	Features   int      `json:"features"`
	Executors  []string `json:"executors"`
	Version    string   `json:"version"`
}

// trained is one training with its test.
type trained struct {
	Train      float64  `json:"train"` // s
	Test       float64  `json:"test"`  // s
	Quality    float64  `json:"quality"`
	Iterations float64  `json:"iterations"`
	Most       int      `json:"most"` // iterations that the model was allowed, as Spark tells; of a forest, its trees
	Executors  []string `json:"executors"`
}

// decided is a decision on sensors.
type decided struct {
	Delays  map[string]int64 `json:"delays"` // events by their delay, in ms
	Correct bool             `json:"correct"`
}

// totals are of all trainings, discarded ones included.
type totals struct {
	Trainings []struct {
		CPU     float64 `json:"cpu"` // s
		GC      float64 `json:"gc"`  // s
		Shuffle float64 `json:"shuffle"`
		Spill   float64 `json:"spill"`
		Failed  float64 `json:"failed"` // tasks
	} `json:"trainings"`
	CPU  float64 `json:"cpu"`  // s, of the thread in Python
	Sent int64   `json:"sent"` // events
}

// answer is one line of the driver. One field is set.
type answer struct {
	Ready     *ready   `json:"ready"`
	Trained   *trained `json:"trained"`
	Decided   *decided `json:"decided"`
	Streaming bool     `json:"streaming"`
	End       *totals  `json:"end"`
	Error     string   `json:"error"`
}

const (
	mark        = 0x1e     // begins an answer: the driver's Java may print as well
	mostAnswer  = 16 << 20 // bytes
	beginning   = 20 * time.Minute
	longest     = time.Hour // of a training
	leaving     = 15 * time.Second
	keptAnswers = 64
)

// driver is the driver while it runs.
type driver struct {
	load    *learning
	stdin   *io.PipeWriter
	answers chan answer
	gone    chan struct{} // nobody reads answers any more
	kill    context.CancelFunc
	ended   chan struct{} // closed at its exit; the fields below are then set
	result  platform.Result
	err     error

	closing sync.Once
	partial []byte
	noise   []byte // the end of what else it printed
}

// begin starts the driver and waits until the data is cached.
func (l *learning) begin(ctx context.Context, env workload.Env, at site) (*driver, ready, error) {
	on, err := spark.Find(ctx, env.Machine, l.Home, l.Java)
	if err != nil {
		return nil, ready{}, err
	}
	argv, err := l.job(at, env.Seed, folder(env)).command(on, path.Join(folder(env), scriptName))
	if err != nil {
		return nil, ready{}, err
	}
	life, kill := context.WithCancel(ctx)
	in, stdin := io.Pipe()
	d := &driver{load: l, stdin: stdin, answers: make(chan answer, keptAnswers), gone: make(chan struct{}), kill: kill, ended: make(chan struct{})}
	go func() {
		defer close(d.ended)
		d.result, d.err = env.Machine.Run(life, platform.Command{Argv: argv, Dir: folder(env), Stdin: in, Stdout: d, Worker: true})
		_ = in.Close() // a request to a driver that has ended fails
	}()
	go d.beat()
	a, err := d.next(ctx, beginning)
	if err == nil && a.Ready == nil {
		err = errors.New("the driver does not begin as it should")
	}
	if err != nil {
		d.end()
		return nil, ready{}, err
	}
	return d, *a.Ready, nil
}

// beat writes empty requests: what copies them to a driver that has ended fails then, and else would wait for the next request.
func (d *driver) beat() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-d.ended:
			return
		case <-tick.C:
		}
		if _, err := io.WriteString(d.stdin, "\n"); err != nil {
			return
		}
	}
}

// Write receives the output of the driver.
func (d *driver) Write(p []byte) (int, error) {
	d.partial = append(d.partial, p...)
	for {
		line, rest, whole := bytes.Cut(d.partial, []byte("\n"))
		if !whole {
			if len(d.partial) > mostAnswer {
				d.partial = nil
			}
			return len(p), nil
		}
		d.take(line)
		d.partial = append(d.partial[:0], rest...)
	}
}

func (d *driver) take(line []byte) {
	at := bytes.IndexByte(line, mark)
	var a answer
	if at < 0 || json.Unmarshal(line[at+1:], &a) != nil {
		const kept = 8 << 10
		d.noise = append(append(d.noise, line...), '\n')
		d.noise = d.noise[max(0, len(d.noise)-kept):]
		return
	}
	select {
	case d.answers <- a:
	case <-d.gone:
	}
}

// ask sends a request, and returns the answer.
func (d *driver) ask(ctx context.Context, request string, limit time.Duration) (answer, error) {
	sent := make(chan struct{})
	go func() { // a driver that hangs does not read
		defer close(sent)
		_, _ = io.WriteString(d.stdin, request+"\n")
	}()
	a, err := d.next(ctx, limit)
	if err == nil {
		<-sent
	}
	return a, err
}

// next is the next answer.
func (d *driver) next(ctx context.Context, limit time.Duration) (answer, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case a := <-d.answers:
		return a, d.failure(a)
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	case <-timer.C:
		return answer{}, fmt.Errorf("the driver did not answer within %s: the cluster may have too few cores or too little memory left", limit)
	case <-d.ended:
	}
	select { // what it said last
	case a := <-d.answers:
		return a, d.failure(a)
	default:
	}
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	return answer{}, d.death()
}

// failure is the error that an answer tells.
func (d *driver) failure(a answer) error {
	if a.Error == "" {
		return nil
	}
	// A driver without memory says of itself that its Java does not answer.
	if strings.Contains(a.Error, "Py4J") {
		select {
		case <-d.ended:
			return d.death()
		case <-time.After(leaving):
		}
	}
	return d.load.explain(a.Error)
}

// death is why the driver has ended.
func (d *driver) death() error {
	if d.err != nil {
		return fmt.Errorf("run the driver: %w", d.err)
	}
	ended := workload.Ended("the driver of Spark", d.result)
	if known := d.load.known(string(d.noise) + ended.Stderr); known != "" {
		return fmt.Errorf("%s: %w", known, ended)
	}
	return fmt.Errorf("%w: %s", ended, lastLine(ended.Stderr))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// once has one training done.
func (d *driver) once(ctx context.Context) (trained, error) {
	a, err := d.ask(ctx, "train", longest)
	if err == nil && a.Trained == nil {
		err = errors.New("the driver answers something else than a training")
	}
	if err != nil {
		return trained{}, err
	}
	return *a.Trained, nil
}

// end ends the driver, and waits until it is gone.
func (d *driver) end() {
	d.closing.Do(func() { close(d.gone) })
	_ = d.stdin.Close()
	timer := time.NewTimer(leaving)
	defer timer.Stop()
	select {
	case <-d.ended:
	case <-timer.C:
	}
	d.kill()
	<-d.ended
}
