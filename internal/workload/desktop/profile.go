package desktop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"plimsoll/internal/workload/desktop/document"
)

// operation is one thing that a person does in a loop: a command, and what it must give.
type operation struct {
	name    string // of its class
	program string // key
	output  string // file in the folder of work that the command makes; empty for none
	command func(p *place) []string
	check   func(ctx context.Context, p *place, printed []byte) error
}

// The files of a session.
const (
	letterName  = "letter.fodt"
	tableName   = "table.csv"
	textName    = "text.txt"
	drawingName = "drawing.pdf"
	textSize    = 2 << 20
	partName    = "part.txt" // of the text, that is packed
	partSize    = 512 << 10
)

// operations are those of all profiles, in the order of a loop.
func operations() []operation { return slices.Concat(onDocuments(), onPages(), onFiles()) }

// office is a command line of LibreOffice with the profile of the session.
func office(p *place, arguments ...string) []string {
	return append([]string{p.paths["office"], "--headless", "--norestore", "--nologo", "--nofirststartwizard", "-env:UserInstallation=file://" + p.session.Path("office")}, arguments...)
}

func convert(p *place, to, file string) []string {
	return office(p, "--convert-to", to, "--outdir", ".", file)
}

func onDocuments() []operation {
	return []operation{
		{
			name: "open", program: "office",
			command: func(p *place) []string { return office(p, "--cat", letterName) },
			check: func(_ context.Context, p *place, printed []byte) error {
				return count(bytes.Count(printed, []byte(document.LettersTitle(p.seed))), document.Sections, "titles in the text")
			},
		}, {
			name: "pdf", program: "office", output: "letter.pdf",
			command: func(p *place) []string { return convert(p, "pdf", letterName) },
			check:   func(_ context.Context, p *place, _ []byte) error { return p.pages("letter.pdf") },
		}, {
			name: "docx", program: "office", output: "letter.docx",
			command: func(p *place) []string { return convert(p, "docx", letterName) },
			check: func(_ context.Context, p *place, _ []byte) error {
				return p.counted("letter.docx", "word/document.xml", document.LettersTitle(p.seed), document.Sections)
			},
		}, {
			name: "sheet", program: "office", output: "table.xlsx",
			command: func(p *place) []string { return convert(p, "xlsx", tableName) },
			check: func(_ context.Context, p *place, _ []byte) error {
				return p.counted("table.xlsx", "xl/worksheets/sheet1.xml", "<row ", document.Rows)
			},
		},
	}
}

// browser is a command line of Chromium with the profile of the session. Its sandbox needs more rights than a load has.
func browser(p *place, arguments ...string) []string {
	all := []string{
		p.paths["browser"], "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-component-update",
		"--disable-sync", "--disable-breakpad", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + p.session.Path("browser"),
	}
	return append(all, arguments...)
}

func onPages() []operation {
	return []operation{
		{
			name: "page", program: "browser",
			command: func(p *place) []string { return browser(p, "--dump-dom", p.server.Address(p.number)) },
			check:   func(_ context.Context, p *place, printed []byte) error { return p.title(printed) },
		}, {
			name: "screenshot", program: "browser", output: "page.png",
			command: func(p *place) []string {
				return browser(p, "--window-size=800,600", "--screenshot="+p.session.Path("work/page.png"), p.server.Address(p.number))
			},
			check: func(_ context.Context, p *place, _ []byte) error { return p.screenshot("page.png") },
		},
	}
}

func pack(p *place, level, archive string) []string {
	return []string{p.paths["archiver"], "a", "-t7z", "-mmt=1", "-bd", "-y", level, archive, partName}
}

func onFiles() []operation {
	return []operation{
		{
			name: "view", program: "viewer", output: "view-3.ppm",
			command: func(p *place) []string { return []string{p.paths["viewer"], "-r", "96", drawingName, "view"} },
			check:   func(_ context.Context, p *place, _ []byte) error { return p.rasters("view") },
		}, {
			name: "archive", program: "archiver", output: "high.7z",
			command: func(p *place) []string { return pack(p, "-mx=9", "high.7z") },
			check:   func(ctx context.Context, p *place, _ []byte) error { return p.tested(ctx, "high.7z") },
		}, {
			name: "pack", program: "archiver", output: "low.7z",
			command: func(p *place) []string { return pack(p, "-mx=1", "low.7z") },
			check:   func(ctx context.Context, p *place, _ []byte) error { return p.tested(ctx, "low.7z") },
		}, {
			name: "save", program: "writer", output: "saved.txt",
			command: func(p *place) []string {
				return []string{p.paths["writer"], "if=" + textName, "of=saved.txt", "bs=64k", "conv=fsync", "status=none"}
			},
			check: func(_ context.Context, p *place, _ []byte) error { return p.saved("saved.txt") },
		},
	}
}

// profiles are the programs of the operations of a profile.
func profiles() map[string][]string {
	return map[string][]string{
		"knowledge": {"office", "browser", "viewer", "archiver", "writer"},
		"office":    {"office", "viewer", "writer"},
		"light":     {"viewer", "archiver", "writer"},
	}
}

// loopOf are the operations of a loop of a profile, and their programs.
func loopOf(profile string) (loop []operation, needed []program) {
	keys := profiles()[profile]
	for _, o := range operations() {
		if slices.Contains(keys, o.program) {
			loop = append(loop, o)
		}
	}
	for _, p := range programs() {
		if slices.Contains(keys, p.key) {
			needed = append(needed, p)
		}
	}
	return loop, needed
}

// logOn are the first starts of the programs that keep a profile of the person.
func logOn(p *place) (commands [][]string) {
	if _, ok := p.paths["office"]; ok {
		commands = append(commands, office(p, "--terminate_after_init"))
	}
	if _, ok := p.paths["browser"]; ok {
		commands = append(commands, browser(p, "--dump-dom", "about:blank"))
	}
	return commands
}

// perform does an operation once and checks its result.
func (p *place) perform(ctx context.Context, o operation) error {
	if o.output != "" { // an old one is no result
		if err := os.Remove(p.session.Path("work/" + o.output)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	printed, err := p.session.Run(ctx, o.command(p)...)
	if err != nil {
		return fmt.Errorf("%s of session %d: %w", o.name, p.number, err)
	}
	if err := o.check(ctx, p, printed); err != nil {
		if o.program == "browser" {
			if gone := p.server.Answers(ctx); gone != nil {
				err = fmt.Errorf("%w; %w", err, gone)
			}
		}
		return &wrongError{fmt.Errorf("%s of session %d: %w", o.name, p.number, err)}
	}
	return nil
}

// wrongError reports a command that ended well and gave another result than it must.
type wrongError struct{ err error }

func (w *wrongError) Error() string { return w.err.Error() }

// Unwrap is the reason.
func (w *wrongError) Unwrap() error { return w.err }

func count(got, want int, what string) error {
	if got != want {
		return fmt.Errorf("%d %s instead of %d", got, what, want)
	}
	return nil
}
