package chart

import (
	"plimsoll/internal/report"
)

// Figure is one figure of a report, or a table without a drawing.
type Figure struct {
	Name  string // part of file names and of element IDs
	Doc   string // how to read it, as a sentence
	Place string // section of the page: one of the places below
	// Table computes the data; it returns false if the input has none.
	Table func(s *report.Sources) (Table, bool)
	// Draw draws the table, that many pixels wide. Nil for a table without a drawing.
	Draw func(t Table, width float64) SVG
}

// The sections of figures.
const (
	InVerdict   = "verdict"
	InTuning    = "tuning"
	InFigures   = "figures"
	InWhy       = "why"
	InPublished = "published"
	InNoise     = "noise"
	InLedger    = "certificate"
)
