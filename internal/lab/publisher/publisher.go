// Package publisher passes the events of a run to its live.jsonl, to a stream of events, and to those who watch.
package publisher

import (
	"path/filepath"

	"plimsoll/internal/events"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/certify"
)

// Publisher passes on the events of one run.
type Publisher struct {
	progress func(trial.Event)
	file     *events.File
	logs     []*events.Log
}

// New publishes the events of a bench: in its results folder, to a stream and to a function, which may be nil.
func New(b *trial.Bench, stream *events.Stream, progress func(trial.Event)) *Publisher {
	p := &Publisher{progress: progress, file: events.NewFile(b.Dir, b.Version)}
	run := runOf(b)
	p.logs = []*events.Log{events.NewLog(run, p.file)}
	if stream != nil {
		p.logs = append(p.logs, events.NewLog(run, stream))
	}
	return p
}

// runOf introduces a run to those who read its events.
func runOf(b *trial.Bench) events.Run {
	_, simulated := b.Platform.(platform.Simulator)
	run := events.Run{
		Name: filepath.Base(b.Dir), Study: b.Study.Name, Question: b.Study.Question, Platform: b.Study.Platform.Kind, Virtual: simulated,
		Arms: []string{}, Blocks: b.Plan.Most, Looks: b.Plan.Looks, Metric: b.Headline(),
	}
	for _, arm := range b.Plan.Arms {
		run.Arms = append(run.Arms, arm.Label)
	}
	if !simulated {
		run.Limits = certify.Watched()
	}
	return run
}

// Take passes an event on. Whoever watches has seen the trials of earlier sessions.
func (p *Publisher) Take(e trial.Event) {
	for _, log := range p.logs {
		log.Take(e)
	}
	if p.progress == nil || e.Earlier {
		return
	}
	if lost := p.file.Lost(); lost != nil {
		p.progress(trial.Event{Phase: "live page", Note: "it misses a part of this run: " + lost.Error()})
	}
	p.progress(e)
}

// Close writes the last lines.
func (p *Publisher) Close() {
	for _, log := range p.logs {
		log.Close()
	}
}

// Leave closes the file of events, and removes it if the run has ended.
func (p *Publisher) Leave(ended bool) { p.file.Close(ended) }

// Between publishes an event that belongs to no single run, such as a round of tuning. The stream and the function may be nil.
func Between(stream *events.Stream, progress func(trial.Event), e trial.Event) {
	if stream != nil {
		stream.Note(string(e.Phase), e.Note)
	}
	if progress != nil {
		progress(e)
	}
}
