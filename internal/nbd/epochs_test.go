package nbd

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"
	"testing/synctest"
)

// model is a disk with epochs as arrays of bytes.
type model struct {
	disk, marked, open []byte
	isMarked, through  bool
}

func (m *model) obey(o Epoch) {
	switch o {
	case MarkEpoch:
		m.marked, m.isMarked, m.through = bytes.Clone(m.open), true, false
	case CommitEpoch:
		if m.isMarked {
			m.disk, m.isMarked = bytes.Clone(m.marked), false
		}
	case DiscardEpoch:
		m.open, m.isMarked = bytes.Clone(m.disk), false
	case EndEpochs:
		m.disk, m.isMarked, m.through = bytes.Clone(m.open), false, true
	}
}

// Reads see what was written last, and the disk has what was committed, whatever the order of writes and of epochs.
func TestEpochsAgainstArrays(t *testing.T) {
	const size = 5*blockSize + 1536
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		below := memory(t, size)
		e := newEpochs(below)
		m := model{disk: make([]byte, size), open: make([]byte, size), through: true}
		for step := range 120 {
			offset := r.Int64N(size / 512)
			length := 512 * (1 + r.Int64N(min(24, size/512-offset)))
			offset *= 512
			q := Request{Offset: offset, Length: length, Durable: r.IntN(4) == 0}
			switch k := r.IntN(12); {
			case k < 4:
				q.Operation, q.Data = Read, make([]byte, length)
			case k < 8:
				q.Operation, q.Data = Write, make([]byte, length)
				fill(r, q.Data)
				copy(m.open[offset:], q.Data)
			case k == 8:
				q.Operation = Zero
				clear(m.open[offset:][:length])
			case k == 9:
				q = Request{Operation: Flush}
			default:
				o := []Epoch{AdmitEpoch, MarkEpoch, MarkEpoch, CommitEpoch, CommitEpoch, DiscardEpoch, EndEpochs}[r.IntN(7)]
				if o == DiscardEpoch && m.through {
					continue
				}
				if err := e.obey(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				m.obey(o)
				q = Request{Operation: Read, Length: size, Data: make([]byte, size)}
				offset = 0
			}
			if err := e.Do(t.Context(), &q); err != nil {
				t.Fatal(err)
			}
			if q.Operation == Read && !bytes.Equal(q.Data, m.open[offset:][:len(q.Data)]) {
				t.Fatalf("seed %d, step %d: a read at %d differs", seed, step, offset)
			}
			if m.through {
				m.disk = bytes.Clone(m.open)
			}
			whole := Request{Operation: Read, Length: size, Data: make([]byte, size)}
			if err := below.Do(t.Context(), &whole); err != nil || !bytes.Equal(whole.Data, m.disk) {
				t.Fatalf("seed %d, step %d: the disk has what was not committed, or lacks what was, %v", seed, step, err)
			}
		}
	}
}

func fill(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// journal is a disk that notes what is asked of it, and fails from a time on.
type journal struct {
	*Memory
	asked []Operation
	fails bool
}

func (j *journal) Do(ctx context.Context, r *Request) error {
	j.asked = append(j.asked, r.Operation)
	if j.fails {
		return syscall.ENOSPC
	}
	return j.Memory.Do(ctx, r)
}

// A commit repeats writes and flushes in their order. A flush without a write before it is none.
func TestFlushesOfEpochs(t *testing.T) {
	below := &journal{Memory: memory(t, 1<<20)}
	e := newEpochs(below)
	e.mark()
	block := make([]byte, blockSize)
	for _, q := range []Request{
		{Operation: Flush},
		{Operation: Write, Length: blockSize, Data: block}, {Operation: Flush}, {Operation: Flush},
		{Operation: Write, Length: blockSize, Data: block, Durable: true}, {Operation: Flush}, {Operation: Trim, Length: blockSize},
	} {
		if err := e.Do(t.Context(), &q); err != nil {
			t.Fatal(err)
		}
	}
	if len(below.asked) > 0 {
		t.Errorf("before the commit the disk was asked for %v", below.asked)
	}
	e.mark()
	if err := e.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []Operation{Write, Flush, Write, Flush, Trim}
	if len(below.asked) != len(want) {
		t.Fatalf("the disk was asked for %v, want %v", below.asked, want)
	}
	for i := range want {
		if below.asked[i] != want[i] {
			t.Errorf("the disk was asked for %v, want %v", below.asked, want)
		}
	}
}

// A disk that cannot be written has clients fail from then on: they were told that their data is there.
func TestACommitThatFails(t *testing.T) {
	below := &journal{Memory: memory(t, 1<<20)}
	e := newEpochs(below)
	e.mark()
	write := Request{Operation: Write, Length: 512, Data: make([]byte, 512)}
	if err := e.Do(t.Context(), &write); err != nil {
		t.Fatal(err)
	}
	e.mark()
	below.fails = true
	if err := e.commit(t.Context()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the commit: %v", err)
	}
	below.fails = false
	for _, o := range []Operation{Read, Write} {
		q := Request{Operation: o, Length: 512, Data: make([]byte, 512)}
		if err := e.Do(t.Context(), &q); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a %s after it: %v", o, err)
		}
	}
}

// A full epoch has writes wait until the next mark, or until they are admitted.
func TestAFullEpoch(t *testing.T) {
	for _, o := range []Epoch{AdmitEpoch, MarkEpoch, DiscardEpoch} {
		synctest.Test(t, func(t *testing.T) {
			e := newEpochs(memory(t, 1<<20))
			e.mark()
			e.open.bytes = mostHeld
			written := make(chan error, 1)
			go func() {
				written <- e.Do(t.Context(), &Request{Operation: Write, Length: 512, Data: make([]byte, 512)})
			}()
			synctest.Wait()
			select {
			case err := <-written:
				t.Fatal("it did not wait: ", err)
			default:
			}
			if err := e.obey(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if err := <-written; err != nil {
				t.Error(err)
			}
		})
	}
}
