package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/lab"
)

func (c *command) studies() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "studies",
		Short: "list the built-in studies with their duration and what they need",
		Long: `List the built-in studies: platform, workload, duration, what has to be installed or
set up beforehand, and the question. The duration leaves out preparation, such as
filling disks; "plimsoll plan STUDY" estimates it on this host.`,
		Example: "  plimsoll studies\n  plimsoll studies --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := c.lab.BuiltIns()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.out, all)
			}
			width := c.columns()
			for _, s := range all {
				fmt.Fprintf(c.out, "%-22s %s, %s, %s%s\n", s.Study, s.Platform, s.Workload, duration(s), requirements(s))
				for _, line := range wrap(s.Question, width-2) {
					fmt.Fprintf(c.out, "  %s\n", line)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// duration is how long a built-in study takes.
func duration(s lab.BuiltIn) string {
	switch {
	case s.Virtual:
		return "seconds (simulated)"
	case s.Least == s.Time:
		return s.Time
	}
	return s.Least + " to " + s.Time
}

func requirements(s lab.BuiltIn) string {
	if len(s.Needs) == 0 {
		return ""
	}
	return "; needs " + strings.Join(s.Needs, ", ")
}

// wrap breaks a text into lines of at most width characters; 0 or less is no limit.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && width > 0 && len([]rune(line))+1+len([]rune(word)) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// fold breaks the lines of a text that are longer than width; 0 is no limit. What follows stands below the value of
// a line such as "name    value", and below the text of any other one.
func fold(text string, width int) string {
	const widest = 24 // of a name
	var b strings.Builder
	for line := range strings.Lines(text) {
		rest := []rune(strings.TrimSuffix(line, "\n"))
		indent := len(rest) - len([]rune(strings.TrimLeft(string(rest), " ")))
		if gap := strings.Index(string(rest[indent:]), "  "); gap > 0 && indent+gap < widest {
			value := strings.TrimLeft(string(rest[indent+gap:]), " ")
			indent = len(rest) - len([]rune(value))
		}
		for width > indent+1 && len(rest) > width {
			at := width
			for at > indent && rest[at] != ' ' {
				at--
			}
			if at == indent {
				break
			}
			fmt.Fprintln(&b, strings.TrimRight(string(rest[:at]), " "))
			rest = append([]rune(strings.Repeat(" ", indent)), rest[at+1:]...)
		}
		fmt.Fprintln(&b, string(rest))
	}
	return b.String()
}

// folded prints a text as wide as the terminal.
func (c *command) folded(write func(io.Writer) error) error {
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	_, err := io.WriteString(c.out, fold(text.String(), c.columns()))
	return err
}

func printJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
