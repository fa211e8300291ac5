package resultscmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/check"
)

func (c *commands) audit() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit FILE",
		Short: "recompute the claims of a text: changes, factors, latencies",
		Long: `Recompute the claims of a text, plain or Markdown, or of a YAML list of claims; - reads
standard input. Each sentence and each row of a table that holds a number is listed:
holds, does not hold, or not understood. A claim holds if it is consistent with values
that round to the printed ones.

Exit status: 0 if no claim is contradicted, 1 if a claim does not hold, 2 if the file
cannot be read. Claims that are not understood do not affect it.`,
		Example:           "  plimsoll audit README.md\n  echo 'IOPS rose from 470 to 510, over 10 %' | plimsoll audit -\n  plimsoll audit claims.yaml --json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := readText(args[0], cmd.InOrStdin())
			if err != nil {
				return cli.Mistake(err)
			}
			claims, err := check.Read(args[0], data)
			if err != nil {
				return cli.Mistake(err)
			}
			return c.printAudit(args[0], claims, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the claims as JSON")
	return cmd
}

// mostText bounds a text to audit: a book has about 1 MB.
const mostText = 16 << 20

// readText reads a file, or standard input for "-".
func readText(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read text: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, mostText+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read text: %w", err)
	case len(data) > mostText:
		return nil, fmt.Errorf("%s is larger than %d MiB", name, mostText>>20)
	}
	return data, nil
}

// auditReport is the JSON that audit prints.
type auditReport struct {
	File   string        `json:"file"`
	Counts claim.Counts  `json:"counts"`
	Claims []claim.Claim `json:"claims"`
}

func (c *commands) printAudit(file string, claims []claim.Claim, asJSON bool) error {
	n := claim.Count(claims)
	err := error(nil)
	if asJSON {
		if claims == nil {
			claims = []claim.Claim{}
		}
		err = cli.PrintJSON(c.screen.Out, auditReport{file, n, claims})
	} else {
		err = c.screen.Folded(func(w io.Writer) error { return writeAudit(w, file, claims) })
	}
	if err == nil && n.DoesNotHold > 0 {
		return cli.Verdict(fmt.Sprintf("%d of %d claims do not hold", n.DoesNotHold, len(claims)))
	}
	return err
}

// writeAudit prints the claims in the order of the text.
func writeAudit(w io.Writer, file string, claims []claim.Claim) error {
	var b strings.Builder
	for i := range claims {
		one := &claims[i]
		if i == 0 || one.Line != claims[i-1].Line || one.Text != claims[i-1].Text {
			fmt.Fprintf(&b, "%s:%d: %s\n", printable(file), one.Line, printable(one.Text))
		}
		fmt.Fprintf(&b, "  %-14s", one.Status)
		if one.Said != "" {
			fmt.Fprintf(&b, "  \"%s\"", printable(one.Said))
		}
		for _, part := range []struct{ lead, text string }{{"", one.Reason}, {"computed: ", one.Computed}, {"write: ", one.Wording}} {
			if part.text != "" {
				fmt.Fprintf(&b, "  %s%s", part.lead, printable(part.text))
			}
		}
		b.WriteByte('\n')
	}
	n := claim.Count(claims)
	if len(claims) > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d claims: %d hold, %d do not hold, %d not understood\n", len(claims), n.Holds, n.DoesNotHold, n.NotUnderstood)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return errors.Join(errors.New("print the audit"), err)
	}
	return nil
}

// printable leaves out what a terminal would take for a command, and joins lines.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f:
			return -1
		}
		return r
	}, s)
	const most = 300
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}
