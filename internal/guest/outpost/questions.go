package outpost

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// questions are those to a keeper.
type questions struct {
	mu      sync.Mutex
	last    int
	waiting map[int]chan<- answer
	over    string // why none is answered any more; empty while they are
}

type answer struct {
	payload []byte
	err     error
}

// ask asks the keeper, and waits for its answer.
func (q *QEMU) ask(ctx context.Context, v verb, argument []byte) ([]byte, error) {
	id, reply, err := q.asked.next()
	if err == nil {
		err = q.wire.send(kindAsk, number(id), []byte{byte(v)}, argument)
	}
	if err != nil {
		return nil, errors.Join(err, q.Err())
	}
	select {
	case a := <-reply:
		if a.err != nil {
			return nil, fmt.Errorf("host %s: %w", q.host.Machine.Name(), a.err)
		}
		return a.payload, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// next is the number of a question.
func (q *questions) next() (id int, reply <-chan answer, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over != "" {
		return 0, nil, errors.New(q.over)
	}
	q.last++
	c := make(chan answer, 1)
	if q.waiting == nil {
		q.waiting = map[int]chan<- answer{}
	}
	q.waiting[q.last] = c
	return q.last, c, nil
}

// answered passes an answer on.
func (q *questions) answered(k kind, payload []byte) error {
	id, rest, err := take(payload)
	if err != nil {
		return err
	}
	a := answer{payload: rest}
	if k == kindRefusal {
		a = answer{err: errors.New(string(rest))}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.waiting[id]; c != nil {
		delete(q.waiting, id)
		c <- a
	}
	return nil
}

// end has all questions fail.
func (q *questions) end(why string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = why
	for _, c := range q.waiting {
		c <- answer{err: errors.New(why)}
	}
	clear(q.waiting)
}
