package studycmd

import (
	"errors"
	"fmt"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/document"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/easyrun"
	"plimsoll/internal/study"

	"plimsoll/internal/study/credential"
)

// validity is the answer of validate for a program.
type validity struct {
	Valid    bool                `json:"valid"`
	Mistakes []*document.Mistake `json:"mistakes,omitempty"`
	Warnings []string            `json:"warnings,omitempty"` // credentials that would be published
	Study    *lab.StudyView      `json:"study,omitempty"`    // as understood
}

func validityOf(s *study.Study, err error) validity {
	if err == nil {
		return validity{Valid: true, Warnings: credential.Warnings(s), Study: new(lab.ViewOf(s))}
	}
	return validity{Mistakes: mistakes(err)}
}

// mistakes are those of an error; nil without one.
func mistakes(err error) []*document.Mistake {
	if err == nil {
		return nil
	}
	if all := document.Mistakes(err); all != nil {
		return all
	}
	return []*document.Mistake{{Text: err.Error()}}
}

func (c *commands) validate() *cobra.Command {
	var a asked
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "validate STUDY",
		Short:   "check a study file: every mistake, with its line and column",
		Long:    "Check a study file. Every mistake is reported with its line and column and a correction.\nThe host is not examined; \"plimsoll plan\" checks whether it can run the study.",
		Example: "  plimsoll validate my-study.yaml\n  plimsoll validate my-study.yaml --set storage.depth=8",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == easyrun.Name {
				return c.validateEasy(cmd, &a, asJSON)
			}
			r, err := c.request(cmd, args[0], &a)
			if err == nil {
				err = lab.Plannable(r)
			}
			if asJSON {
				return errors.Join(cli.PrintJSON(c.screen.Out, validityOf(r.Source.Study, err)), err)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.screen.Out, "%s is a valid study\n", args[0])
			return err
		},
	}
	a.flags(c, cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the mistakes, or the parsed study, as JSON")
	return cmd
}
