package images

import (
	"encoding/json"
	"fmt"
)

// Protocol is what a classifier speaks, as services and workloads name it.
//
// A client begins a connection with a line of JSON, its Hello, and gets a Description. Then it
// sends images, each of which is answered with a line: the class as a digit, or an error after
// which the server closes the connection. Answers come in the order of the images. With Ask, the
// server answers the question instead, one line for each.
//
// A connection that begins with a digit has the lines of the published kit, in float-text: no
// image is answered. An empty line ends the stream and is answered with its Stream.
const Protocol = "images"

// Version is the version of the messages, which both sides must share.
const Version = 1

// Refused begins the answer to an image that cannot be read.
const Refused = "error: "

// Question is what a client asks of a server about itself.
type Question string

// The questions.
const (
	Settings Question = "settings" // answered with settings, by name
	Counts   Question = "counts"   // answered with counters, by name
	Streams  Question = "streams"  // answered with the Stream of all connections without answers
)

// Hello is the first line of a client.
type Hello struct {
	Images   int      `json:"images"` // Version
	Encoding Encoding `json:"encoding,omitempty"`
	Ask      Question `json:"ask,omitempty"`
}

// Line is the hello as it is sent.
func (h Hello) Line() []byte {
	h.Images = Version
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // a struct of texts
	}
	return append(text, '\n')
}

// ParseHello parses the line of a client.
func ParseHello(line []byte) (Hello, error) {
	var h Hello
	if err := json.Unmarshal(line, &h); err != nil {
		return h, fmt.Errorf("the first line is %q instead of a hello: %w", excerpt(line), err)
	}
	switch {
	case h.Images != Version:
		return h, fmt.Errorf("version %d of the protocol %s is unknown: this is version %d", h.Images, Protocol, Version)
	case h.Ask == "" && !h.Encoding.Known():
		return h, fmt.Errorf("unknown encoding %q: must be one of %s", h.Encoding, names())
	case h.Ask != "" && h.Ask != Settings && h.Ask != Counts && h.Ask != Streams:
		return h, fmt.Errorf("unknown question %q", h.Ask)
	}
	return h, nil
}

// Description is the server's answer to a hello with an encoding.
type Description struct {
	Plimsoll string `json:"plimsoll"` // Protocol
	Version  int    `json:"version"`
	Model    string `json:"model"`  // its name
	SHA256   string `json:"sha256"` // of the model's file
	Input    Input  `json:"input"`
	Engine   string `json:"engine"`
}

// ParseDescription parses the line of a server.
func ParseDescription(line []byte) (Description, error) {
	var d Description
	if err := json.Unmarshal(line, &d); err != nil || d.Plimsoll != Protocol {
		return d, fmt.Errorf("the server does not speak the protocol %s: it sends %q", Protocol, excerpt(line))
	}
	if d.Version != Version || !d.Input.Known() {
		return d, fmt.Errorf("the server speaks version %d of the protocol %s, with input %q: use the same release of plimsoll on both sides", d.Version, Protocol, d.Input)
	}
	return d, nil
}

// Stream is what came over connections without answers, by the receiver's clock.
type Stream struct {
	Images  int64   `json:"images"`
	Correct int64   `json:"correct"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"` // from the first image to the end of one stream; 0 of all of them
}
