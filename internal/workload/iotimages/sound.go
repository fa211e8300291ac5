package iotimages

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"plimsoll/internal/images"
	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
)

// tally counts the answers of one connection.
type tally struct {
	answered, correct int64
	deepest           int // most images that were ever outstanding
}

// sound offers images and has each answered.
func (r *run) sound(ctx context.Context, out *measure.Recorder) error {
	var ledger load.Ledger[tally]
	var next atomic.Int64
	i := r.load
	job, err := i.offer.Traced(load.Job{
		Stage: r.stage, Network: r.at.Network, Address: r.at.Address, Connections: i.Connections, Window: i.Pipeline,
		Dialogue: func(int) load.Dialogue {
			return &talk{run: r, next: &next, ring: make([]outstanding, i.Pipeline), tally: ledger.Sheet()}
		},
	})
	if err != nil {
		return err
	}
	if err := socket.Run(ctx, job, out); err != nil {
		return err
	}
	var sum tally
	for _, t := range ledger.Sheets() {
		sum.answered += t.answered
		sum.correct += t.correct
		sum.deepest = max(sum.deepest, t.deepest)
	}
	if sum.answered > 0 {
		out.Value("correct", float64(sum.correct)/float64(sum.answered))
	}
	if i.offer.Saturates() {
		out.Observe("iotimages.pipeline", strconv.Itoa(sum.deepest))
	}
	out.Observe("iotimages.connections", strconv.Itoa(min(ledger.Made(), i.Connections)))
	return nil
}

// outstanding is an image without an answer yet.
type outstanding struct {
	index, slot, bytes int
}

// talk is the dialogue of one connection. Answers come in the order of the images.
type talk struct {
	run      *run
	next     *atomic.Int64 // image of the whole load
	begun    bool          // the hello was sent
	greeted  bool          // the description has come
	ring     []outstanding
	from, to int
	tally    *tally
}

// Request appends the next image of the set.
func (t *talk) Request(buffer []byte, slot int) ([]byte, int) {
	if !t.begun {
		t.begun = true
		buffer = append(buffer, images.Hello{Encoding: t.run.load.encoding}.Line()...)
	}
	index := int((t.next.Add(1) - 1) % int64(len(t.run.set)))
	before := len(buffer)
	buffer = t.run.encoder.Append(buffer, index)
	t.ring[t.to%len(t.ring)] = outstanding{index, slot, len(buffer) - before}
	t.to++
	t.tally.deepest = max(t.tally.deepest, t.to-t.from)
	return buffer, 0
}

// longestLine is more than any answer has.
const longestLine = 4096

var none = load.Answer{Slot: load.NoSlot}

// Answer reads the answer to the oldest image.
func (t *talk) Answer(data []byte) (load.Answer, int, error) {
	end := bytes.IndexByte(data[:min(len(data), longestLine)], '\n')
	switch {
	case end < 0 && len(data) >= longestLine:
		return none, 0, fmt.Errorf("unterminated line from the server: %q", excerpt(data))
	case end < 0:
		return none, 0, nil
	}
	text, used := data[:end], end+1
	if why, refused := bytes.CutPrefix(text, []byte(images.Refused)); refused {
		return none, used, fmt.Errorf("%w: %s", load.ErrRefused, excerpt(why))
	}
	if !t.greeted {
		t.greeted = true
		about, err := images.ParseDescription(text)
		if err == nil && about != t.run.about {
			err = fmt.Errorf("%w: another classifier answers than before the load, with model %s (sha256 %.16s)", load.ErrRefused, about.Model, about.SHA256)
		}
		return none, used, err
	}
	if t.from == t.to {
		return none, 0, fmt.Errorf("unexpected answer from the server: %q", excerpt(text))
	}
	class, err := classOf(text)
	if err != nil {
		return none, 0, err
	}
	o := t.ring[t.from%len(t.ring)]
	t.from++
	t.tally.answered++
	if class == t.run.set[o.index].Label {
		t.tally.correct++
	}
	return load.Answer{Slot: o.slot, Bytes: int64(o.bytes + used), Failed: !t.run.answers.note(o.index, class)}, used, nil
}
