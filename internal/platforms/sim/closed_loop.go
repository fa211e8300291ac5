package sim

// closedLoop is a queue under a fixed number of workers. Each waits for its
// operation, pauses, and offers the next one.
type closedLoop struct {
	law     law
	places  int      // servers
	workers int      // operations outstanding, or about to be after a pause
	think   float64  // seconds of pause
	serving schedule // operations in service
	waiting line
	pauses  line     // ends of the workers' pauses, which are all equally long
	answers schedule // those that come at another time than the server is done
	clock   float64
	weight  float64 // seconds that each second stands for
	usage
}

func newClosedLoop(l law, places, workers int, think float64) *closedLoop {
	// An answer that comes early lets its worker offer another operation while the
	// server is still busy: the line may hold more than there are workers.
	q := &closedLoop{law: l, places: places, workers: workers, think: think, waiting: newLine(workers + places), pauses: newLine(workers)}
	for range workers {
		q.pauses.push(0)
	}
	return q
}

func (q *closedLoop) expect(seconds float64, p pace) (operations, least float64) {
	n := float64(q.workers)
	return seconds * min(float64(q.places)/p.service, n/(p.service+q.think)), turnover * n
}

func (q *closedLoop) advance(to float64, p pace, t *tally) {
	q.weight = float64(t.weight)
	for {
		done, pause, answer := q.serving.next(), q.pauses.next(), q.answers.next()
		switch now := min(done, pause, answer); {
		case now > to:
			q.pass(to)
			return
		case done == now:
			q.leave(now, p, t)
		case pause == now:
			q.pass(now)
			q.pauses.pop()
			q.arrive(now, p)
		default:
			q.pass(now)
			e := q.answers.pop()
			t.complete(now - e.arrival)
			q.rest(now, p)
		}
	}
}

// pass lets time go by.
func (q *closedLoop) pass(to float64) {
	passed := (to - q.clock) * q.weight
	q.busy += float64(len(q.serving)) * passed
	q.system += float64(len(q.serving)+q.waiting.size) * passed
	q.clock = to
}

// arrive offers an operation to the servers.
func (q *closedLoop) arrive(now float64, p pace) {
	if len(q.serving) < q.places {
		q.serving.push(q.start(now, now, p))
		return
	}
	q.waiting.push(now)
}

// start gives an operation to a server. A planted latency brings the answer
// later than the server is done, or earlier but not before it has begun.
func (q *closedLoop) start(now, arrival float64, p pace) event {
	begin := q.law.gate.ready(now)
	q.law.gate.take(begin, q.weight)
	e := event{q.law.gate.finish(begin, q.law.draw(p.service)), arrival}
	if p.latency != 1 {
		q.answers.push(event{max(now, arrival+p.latency*(e.at-arrival)), arrival})
	}
	return e
}

// leave ends the service of the operation that is done first.
func (q *closedLoop) leave(now float64, p pace, t *tally) {
	q.pass(now)
	arrival := q.serving[0].arrival
	if q.waiting.size > 0 {
		q.serving.replace(q.start(now, q.waiting.pop(), p))
	} else {
		q.serving.pop()
	}
	if p.latency == 1 {
		t.complete(now - arrival)
		q.rest(now, p)
	}
}

// rest is the pause of a worker after its response.
func (q *closedLoop) rest(now float64, p pace) {
	if q.think > 0 {
		q.pauses.push(now + q.think)
		return
	}
	q.arrive(now, p)
}

func (q *closedLoop) skip(by float64, _ pace) {
	q.serving.shift(by)
	q.answers.shift(by)
	q.pauses.shift(by)
	q.waiting.shift(by)
	q.clock += by
}

func (q *closedLoop) use() usage { return q.usage }
