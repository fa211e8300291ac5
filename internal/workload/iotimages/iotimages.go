// Package iotimages is a workload of labelled images for a classifier, after a published kit for
// the Internet of Things. Sound loads offer images on a schedule and have each answered; faithful
// ones send the lines of the kit, one way.
//
// What the classifier answers to each image of the set is known after a load, and held against
// the exact number of correct answers.
package iotimages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/images"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// Parameters are what a study may set.
type Parameters struct {
	Encoding    string `name:"encoding" doc:"what is sent: lines of 3,072 numbers, or pixels as bytes or as a PNG file" choices:"float-text,int-text,raw,png"`
	Mode        string `name:"mode" doc:"sound: each image is answered; faithful: as the published kit sends, one way, with the rate that the receiver counts" choices:"sound,faithful"`
	Data        string `name:"data" doc:"the 10,000 test images of CIFAR-10, which are fetched, or the first 300 of them, which come with plimsoll" choices:"cifar-10,sample"`
	Images      int    `name:"images" doc:"the first images of the data, at most so many, sent in order, and again from the first" min:"1" max:"10000"`
	Correct     int    `name:"correct" doc:"exact number of correct answers to these images, of a model for which plimsoll does not know it; 0 is no number" min:"0" max:"10000"`
	Connections int    `name:"connections" doc:"number of connections" min:"1" max:"4096"`
	Pipeline    int    `name:"pipeline" doc:"pipeline depth: images outstanding per connection" min:"1" max:"256"`

	workload.Pace `rate:"offered load in images per second, in total; empty is a closed loop"`
}

const (
	faithful = "faithful"
	sample   = "sample"
)

func defaults() Parameters {
	return Parameters{
		Encoding: string(images.FloatText), Mode: "sound", Data: "cifar-10", Images: 1000, Connections: 8, Pipeline: 1,
		Pace: workload.UsualPace(5 * time.Second),
	}
}

// Kind is the workload as the catalog lists it. sampled returns the images that come with a program; nil for a program without.
func Kind(sampled func() ([]images.Image, error)) workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "iotimages",
		Doc:     "labelled images for a classifier, each answered with its class, or sent as a published kit does",
		Needs:   "the images of CIFAR-10",
		Rate:    "images",
		Metrics: slices.Concat(measure.OperationMetrics("images"), measure.ScheduleMetrics(), own(), measure.ClientMetrics("image")),
		Speaks:  []string{images.Protocol},
		Own:     true,
	}, defaults(), func(p Parameters) (workload.Load, error) {
		i, err := build(p)
		if err != nil {
			return nil, err
		}
		i.sampled = sampled
		return i, nil
	})
}

// own are the metrics that operations and schedules in general do not have.
func own() []measure.Metric {
	return []measure.Metric{
		{Name: "correct", Unit: "1", Doc: "share of the answers that are correct", Better: measure.HigherIsBetter},
		{Name: "correct.exact", Unit: "1", Doc: "number of correct answers, each image of the set counted once"},
		{Name: "server.cpu_per_image", Unit: "s", Doc: "CPU time of the classifier per image", Better: measure.LowerIsBetter},
		{Name: "server.parse_per_image", Unit: "s", Doc: "CPU time of the classifier per image for all but the computation", Better: measure.LowerIsBetter},
		{Name: "server.infer_per_image", Unit: "s", Doc: "CPU time of the classifier's engine per image", Better: measure.LowerIsBetter},
		{Name: "receiver.rate", Unit: "1/s", Doc: "images per second from the first to the end of the stream, by the receiver's clock; mode faithful"},
		{Name: "sent", Unit: "1/s", Doc: "images sent per second; mode faithful"},
	}
}

func build(p Parameters) (*iotImages, error) {
	i := &iotImages{Parameters: p, encoding: images.Encoding(p.Encoding)}
	usual := defaults()
	if p.Mode == faithful {
		for _, c := range []struct {
			wrong bool
			why   string
		}{
			{!i.encoding.Text(), "the published kit sends lines: encoding must be float-text or int-text"},
			{p.Connections != usual.Connections || p.Pipeline != usual.Pipeline || p.Threads != usual.Threads, "the published kit has one connection and no answers: connections, pipeline and threads are for mode sound"},
			{p.Think > 0 || p.Trace != "" || p.Shape != "" || p.Arrivals != usual.Arrivals, "the published kit has a pace of its own: think, trace, shape and arrivals are for mode sound"},
			{p.Tick > 0 || p.MaxLag > 0, "the published kit has no schedule: tick and max_lag are for mode sound"},
		} {
			if c.wrong {
				return nil, errors.New("mode faithful: " + c.why)
			}
		}
	}
	if p.Threads > p.Connections {
		return nil, fmt.Errorf("%d threads for %d connections: each thread needs one of its own", p.Threads, p.Connections)
	}
	if p.Correct > p.Images {
		return nil, fmt.Errorf("correct: %d of %d images cannot be correct", p.Correct, p.Images)
	}
	var err error
	i.offer, err = p.Offered()
	return i, err
}

type iotImages struct {
	Parameters
	sampled  func() ([]images.Image, error) // nil for none
	encoding images.Encoding
	offer    workload.Offer
}

// about is roughly how many bytes an image takes.
var about = map[images.Encoding]int64{images.FloatText: 29_500, images.IntText: 10_900, images.Raw: 1 + images.Numbers, images.PNG: 2_400}

// Demand is what the load asks of the classifier.
func (i *iotImages) Demand() load.Demand {
	class := load.Class{Share: 1, Bytes: about[i.encoding]}
	if i.Mode == faithful {
		return load.Demand{Concurrency: 1, Classes: []load.Class{class}}
	}
	return i.offer.Demand(i.Connections*i.Pipeline, class)
}

// Check finds the images, and asks a classifier that runs already.
func (i *iotImages) Check(ctx context.Context, env workload.Env) (workload.Needs, error) {
	var needs workload.Needs
	if err := i.offer.Trace.Check(); err != nil {
		return needs, err
	}
	set, err := i.find()
	if err != nil {
		return needs, err
	}
	needs.Disk = int64(len(set)) * (1 + images.Numbers)
	needs.Versions = map[string]string{"images": describeSet(i.Data, set)}
	if env.Target == nil {
		return needs, nil // it will be started
	}
	at, err := i.target(env)
	if err != nil {
		return needs, err
	}
	c, err := i.call(ctx, env, at)
	if err != nil {
		return needs, err
	}
	c.close()
	return needs, nil
}

// target is where the classifier listens.
func (i *iotImages) target(env workload.Env) (load.Endpoint, error) {
	if env.Target == nil {
		return load.Endpoint{}, errors.New("the workload iotimages requires a classifier: add service: classifier to the study")
	}
	at, err := env.Target(images.Protocol)
	if err != nil {
		return at, fmt.Errorf("find a classifier: %w", err)
	}
	return at, nil
}

// Run sends images until stage.Length or until the recorder has enough, and then those that were
// not answered yet.
func (i *iotImages) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := i.offer.Trace.Check(); err != nil {
		return err
	}
	set, err := stored(env)
	if err != nil {
		return err
	}
	at, err := i.target(env)
	if err != nil {
		return err
	}
	r := &run{load: i, env: env, at: at, stage: stage, set: set, answers: newAnswers(len(set))}
	if err := r.describe(ctx); err != nil {
		return err
	}
	send := r.sound
	if i.Mode == faithful {
		send = r.faithful
	}
	before := r.counts(ctx)
	err = send(ctx, out)
	if ctx.Err() != nil { // which closes connections, whatever the load was about to do
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	spent(before, r.counts(ctx), out)
	out.Observe("iotimages.encoding", i.Encoding)
	out.Observe("iotimages.mode", i.Mode)
	r.verify(ctx, out)
	return nil
}

// run is one load.
type run struct {
	load    *iotImages
	env     workload.Env
	at      load.Endpoint
	stage   load.Stage
	set     []images.Image
	about   images.Description
	encoder *images.Encoder
	answers *answers
}

// describe asks the classifier what its model takes.
func (r *run) describe(ctx context.Context) error {
	c, err := r.load.call(ctx, r.env, r.at)
	if err != nil {
		return err
	}
	defer c.close()
	r.about = c.about
	r.encoder, err = images.NewEncoder(r.load.encoding, r.about.Input, r.set)
	return err
}
