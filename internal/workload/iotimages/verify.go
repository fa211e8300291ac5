package iotimages

import (
	"context"
	"fmt"
	"sync/atomic"

	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
	"plimsoll/internal/measure"
)

// answers are the first answer to each image of the set, shared by all connections.
type answers struct {
	classes []atomic.Uint32 // 0 without an answer, else the class plus 1
	changed atomic.Int64    // later answers that differ from it
	image   atomic.Int64    // of the last of these
}

func newAnswers(count int) *answers {
	return &answers{classes: make([]atomic.Uint32, count)}
}

// note takes an answer. It is false if an earlier one to the same image differs.
func (a *answers) note(index int, class byte) bool {
	c := uint32(class) + 1
	if a.classes[index].CompareAndSwap(0, c) || a.classes[index].Load() == c {
		return true
	}
	a.changed.Add(1)
	a.image.Store(int64(index))
	return false
}

// missing are the images without an answer.
func (a *answers) missing() (indices []int) {
	for i := range a.classes {
		if a.classes[i].Load() == 0 {
			indices = append(indices, i)
		}
	}
	return indices
}

// correct is the number of images whose answer is their label.
func (a *answers) correct(set []images.Image) (n int) {
	for i := range set {
		if a.classes[i].Load() == uint32(set[i].Label)+1 {
			n++
		}
	}
	return n
}

// verify sends the images that the load did not come to, and judges the answers to all.
func (r *run) verify(ctx context.Context, out *measure.Recorder) {
	err := r.complete(ctx)
	if left := len(r.answers.missing()); left > 0 {
		c := measure.DataCheck(checkName, r.answers.changed.Load() == 0, fmt.Sprintf("%d of %d images were not answered", left, len(r.set)))
		if c.State == measure.Pass {
			c.State = measure.Unknown
		}
		if err != nil {
			c.Detail += ": " + err.Error()
		}
		out.Check(c)
		return
	}
	correct := r.answers.correct(r.set)
	out.Value("correct.exact", float64(correct))
	out.Check(r.judge(correct))
}

const checkName = "correct answers"

// judge holds the answers against each other, and their number against what is known.
func (r *run) judge(correct int) measure.Check {
	count := len(r.set)
	if n := r.answers.changed.Load(); n > 0 {
		return measure.DataCheck(checkName, false, fmt.Sprintf("%d answers differ from an earlier one to the same image, the last to image %d: answers were lost, repeated or out of order, or the model computes differently", n, r.answers.image.Load()))
	}
	want, known := r.load.Correct, r.load.Correct > 0
	bits := cifar.Expected(r.about.SHA256)
	if !known && bits != nil {
		want, known = bits.Correct(0, count), true
	}
	detail := fmt.Sprintf("%d of %d images are classified correctly", correct, count)
	switch {
	case !known:
		return measure.Check{Name: checkName, State: measure.Unknown, Detail: detail + fmt.Sprintf("; how many must be is not known of model %s (sha256 %.16s): set iotimages.correct", r.about.Model, r.about.SHA256)}
	case correct == want:
		return measure.DataCheck(checkName, true, detail+", as they must be")
	}
	detail += fmt.Sprintf(" instead of exactly %d", want)
	if bits != nil && r.load.Correct == 0 {
		for i := range r.set {
			if bits.Right(i) != (r.answers.classes[i].Load() == uint32(r.set[i].Label)+1) {
				detail += fmt.Sprintf(", the first that differs is image %d", i)
				break
			}
		}
	}
	return measure.DataCheck(checkName, false, detail+": answers were lost, repeated or out of order, or the model computes differently")
}

// together is how many images of the verification are sent before their answers are read.
const together = 8

// complete has the images answered that were not yet, outside of the measured load.
func (r *run) complete(ctx context.Context) error {
	left := r.answers.missing()
	if len(left) == 0 {
		return nil
	}
	c, err := r.load.call(ctx, r.env, r.at)
	if err != nil {
		return err
	}
	defer c.close()
	var data []byte
	for len(left) > 0 && ctx.Err() == nil {
		some := left[:min(together, len(left))]
		left = left[len(some):]
		data = data[:0]
		for _, index := range some {
			data = r.encoder.Append(data, index)
		}
		if err := c.say(data, patience); err != nil {
			return err
		}
		for _, index := range some {
			text, err := c.hear()
			if err != nil {
				return err
			}
			class, err := classOf(text)
			if err != nil {
				return err
			}
			r.answers.note(index, class)
		}
	}
	return context.Cause(ctx)
}
