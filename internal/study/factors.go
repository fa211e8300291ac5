package study

import (
	"plimsoll/internal/document"
	"plimsoll/internal/parameter"
)

// Label is the no-op factor. Its levels are free names: an A/A study compares a system with
// itself.
const Label = "label"

// CommandPrefix is the prefix of factors made of commands.
const CommandPrefix = "command."

// MostLevels is the largest number of levels of one factor.
const MostLevels = 64

// SettingNames are the factors that a kind's settings make: "storage.depth".
func SettingNames(kind string, defaults any) []string {
	return namesOf(parameter.Fields(defaults), func(f parameter.Field) string { return kind + "." + f.Name })
}

// Locate remembers the positions of levels in the file of the study, by factor and level: "storage.threads=2".
func (s *Study) Locate(levels map[string]document.Mistake) { s.levels = levels }

// AtLevel adds the position of a level in the study file to an error about it, if known.
func (s *Study) AtLevel(factor, level string, err error) error {
	m, ok := s.levels[factor+"="+level]
	if !ok {
		return err
	}
	m.Text = document.OneLine(err.Error())
	return &m
}
