// Package classifier is the service of an image classifier: a server process of plimsoll's own,
// which has ONNX Runtime or an engine in Go compute the classes.
package classifier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/images"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// Command is the hidden command of this program that calls Serve.
const Command = "classify"

// Settings are the settings of the classifier in a study.
type Settings struct {
	Address string `name:"address" doc:"address of a classifier you provide, host:port; empty starts one"`
	Engine  string `name:"engine" doc:"what computes: ONNX Runtime, or plimsoll's own engine in Go, which is slower and requires no software" choices:"onnxruntime,go"`
	Model   string `name:"model" doc:"cnn, which is fetched; small, which comes with plimsoll; or the path of an ONNX file and its SHA-256, at least 16 digits, as PATH@0123456789abcdef"`
	Threads int    `name:"threads" doc:"images, or batches, computed at the same time, each on one CPU" min:"1" max:"64"`
	Batch   int    `name:"batch" doc:"most images computed together; none waits for others" min:"1" max:"1024"`
	Python  string `name:"python" doc:"Python that has ONNX Runtime; empty is that of plimsoll service classifier fetch"`
}

// The engines.
const (
	onnxRuntime = "onnxruntime"
	goEngine    = "go"
)

func defaults() Settings {
	return Settings{Engine: onnxRuntime, Model: cnnModel, Threads: 1, Batch: 1}
}

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Needs:   "ONNX Runtime",
		Name:    "classifier",
		Doc:     "image classifier with ONNX Runtime, or with an engine in Go, started for the study, or one you provide",
		Speaks:  []string{images.Protocol},
		Metrics: metrics(),
		Ratios: []service.Ratio{
			perImage("classifier.cpu_per_image", "classifier.cpu", "CPU time of the server per image"),
			perImage("classifier.parse_per_image", "classifier.parse.cpu", "CPU time per image for all but the computation: receiving, decoding, answering"),
			perImage("classifier.infer_per_image", "classifier.infer.cpu", "CPU time of the engine per image"),
			{Metric: measure.Metric{Name: "classifier.batch", Unit: "1", Doc: "images computed together, on average"}, Of: "classifier.images", Per: []string{"classifier.batches"}},
		},
	}, defaults(), build)
}

func perImage(name, of, doc string) service.Ratio {
	return service.Ratio{Metric: measure.Metric{Name: name, Unit: "s", Doc: doc, Better: measure.LowerIsBetter}, Of: of, Per: []string{"classifier.images"}}
}

func metrics() []measure.Metric {
	return []measure.Metric{
		{Name: "classifier.images", Unit: "1/s", Doc: "images classified"},
		{Name: "classifier.correct", Unit: "1/s", Doc: "images classified as their label says"},
		{Name: "classifier.refused", Unit: "1/s", Doc: "images that could not be read"},
		{Name: "classifier.batches", Unit: "1/s", Doc: "batches computed"},
		{Name: "classifier.connections", Unit: "1/s", Doc: "connections accepted, those of this collector included"},
		{Name: "classifier.received", Unit: "B/s", Doc: "bytes of images received"},
		{Name: "classifier.cpu", Unit: "1", Doc: "CPUs used by the server and its engines"},
		{Name: "classifier.parse.cpu", Unit: "1", Doc: "CPUs used for all but the computation"},
		{Name: "classifier.infer.cpu", Unit: "1", Doc: "CPUs used by the engines"},
	}
}

func build(s Settings) (service.Service, error) {
	if _, err := parseModel(s.Model); err != nil {
		return nil, err
	}
	if s.Engine == goEngine && s.Python != "" {
		return nil, errors.New("python is for engine onnxruntime")
	}
	if s.Engine == goEngine && s.Batch > 1 {
		return nil, errors.New("batch is for engine onnxruntime: the Go engine computes one image at a time")
	}
	at, err := service.Provided(s.Address, s, defaults())
	if at == nil || err != nil {
		return &classifier{s}, err
	}
	at.Program, at.Version = "classifier", version
	at.Live = func(m platform.Machine, at load.Endpoint) service.Live { return client{m, at}.live() }
	return at, nil
}

type classifier struct{ settings Settings }

// Check finds the model and the engine, and checks that they fit.
func (c *classifier) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	needs := service.Needs{Time: 2 * time.Second, Memory: int64(c.settings.Threads) * 80 << 20, Versions: map[string]string{}}
	if _, err := service.Self(ctx, env.Machine); err != nil {
		return needs, err
	}
	found, err := c.find(ctx, env.Machine)
	if err != nil {
		return needs, err
	}
	needs.Versions["model"] = found.name + " (sha256 " + found.hash[:shownDigits] + ")"
	if c.settings.Engine == goEngine {
		return needs, nil
	}
	_, needs.Versions[onnxRuntime], err = c.settings.runtime(ctx, env.Machine)
	return needs, err
}

// find reads the model on the machine, and checks that the engine can compute it.
func (c *classifier) find(ctx context.Context, m platform.Machine) (model, error) {
	named, err := parseModel(c.settings.Model)
	if err != nil {
		return model{}, err
	}
	data, err := named.read(ctx, m)
	if err != nil {
		return model{}, err
	}
	found, err := named.open(data)
	if err == nil {
		err = found.fits(c.settings)
	}
	return found, err
}

// order is the configuration of the process, on its standard input.
type order struct {
	Host    string `json:"host"` // address to listen at
	Engine  string `json:"engine"`
	Model   string `json:"model"` // as the setting has it
	File    string `json:"file"`  // of the model; empty for one that comes with plimsoll
	Threads int    `json:"threads"`
	Batch   int    `json:"batch"`
	Python  string `json:"python,omitempty"`
}

// greeting is the line that the process prints when it listens.
type greeting struct {
	Address string `json:"address"`
}

// Start starts the process; the kernel chooses the port.
func (c *classifier) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	s := c.settings
	o := order{Engine: s.Engine, Model: s.Model, Threads: s.Threads, Batch: s.Batch}
	named, err := parseModel(s.Model)
	if err == nil {
		o.File, err = named.file(ctx, env.Machine)
	}
	if err == nil && s.Engine == onnxRuntime {
		o.Python, _, err = s.runtime(ctx, env.Machine)
	}
	if err != nil {
		return nil, err
	}
	return service.Own{
		Name: "the classifier", Command: Command,
		Options: func(place service.Location) ([]byte, error) {
			o.Host = place.Host
			return json.Marshal(o)
		},
		Ready: func(ctx context.Context, line []byte) (service.Live, error) {
			var g greeting
			if err := json.Unmarshal(line, &g); err != nil {
				return service.Live{}, fmt.Errorf("its first line is %q: %w", line, err)
			}
			at := client{env.Machine, load.Endpoint{Network: "tcp", Address: g.Address}}
			_, err := at.count(ctx)
			return at.live(), err
		},
	}.Start(ctx, env)
}
