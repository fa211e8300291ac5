package desktop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/workload/desktop/document"
	"plimsoll/internal/workload/desktop/page"
	"plimsoll/internal/workload/desktop/session"
)

// building is what all sessions of a load have in common.
type building struct {
	loop      []operation
	paths     map[string]string // of programs, by key
	folder    string            // of the sessions
	documents string            // folder
	seed      uint64
	server    *page.Server // nil without a browser
	text      []byte       // that is saved
}

// place is where a person works: a session with its files.
type place struct {
	*building
	number   int
	session  *session.Session
	loggedOn time.Duration // what it took to log on
}

// enter makes the place of a person and logs on: it creates the profile of each program.
func (b *building) enter(ctx context.Context, number int) (*place, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	began := time.Now()
	s, err := session.Open(filepath.Join(b.folder, fmt.Sprint(number)), number)
	if err != nil {
		return nil, err
	}
	p := &place{building: b, number: number, session: s}
	if err := p.furnish(ctx); err != nil {
		p.leave()
		return nil, err
	}
	p.loggedOn = time.Since(began)
	return p, nil
}

func (p *place) furnish(ctx context.Context) error {
	for _, name := range []string{letterName, tableName, textName, partName, drawingName} {
		// Programs lock files by their names: each session has names of its own.
		if err := os.Link(filepath.Join(p.documents, name), p.session.Path("work/"+name)); err != nil {
			return fmt.Errorf("give session %d its documents: %w", p.number, err)
		}
	}
	for _, argv := range logOn(p) {
		if _, err := p.session.Run(ctx, argv...); err != nil {
			return fmt.Errorf("log on to session %d: %w", p.number, err)
		}
	}
	return nil
}

// leave ends the session and removes its folder.
func (p *place) leave() {
	p.session.Close()
	_ = os.RemoveAll(filepath.Join(p.folder, fmt.Sprint(p.number))) // Clean removes what is left
}

func (p *place) read(name string) ([]byte, error) { return os.ReadFile(p.session.Path("work/" + name)) }

// pages checks the number of pages of the letter.
func (p *place) pages(name string) error {
	file, err := p.read(name)
	if err != nil {
		return err
	}
	n, err := document.Pages(file)
	if err != nil {
		return err
	}
	return count(n, document.Sections, "pages")
}

// counted checks how often a text is in a part of an office document.
func (p *place) counted(name, part, text string, want int) error {
	file, err := p.read(name)
	if err != nil {
		return err
	}
	n, err := document.Counted(file, part, text)
	if err != nil {
		return err
	}
	return count(n, want, fmt.Sprintf("of %q", strings.TrimSpace(text)))
}

// title checks the title that the script of a page has set.
func (p *place) title(dom []byte) error {
	_, rest, found := bytes.Cut(dom, []byte("<title>"))
	got, _, closed := bytes.Cut(rest, []byte("</title>"))
	switch want := p.server.Title(p.number); {
	case !found || !closed:
		return errors.New("the page has no title")
	case string(got) != want:
		return fmt.Errorf("the title of the page is %.60q instead of %q", got, want)
	}
	return nil
}

// screenshot checks that a picture shows something.
func (p *place) screenshot(name string) error {
	file, err := p.read(name)
	if err != nil {
		return err
	}
	w, h, err := document.Screenshot(file)
	if err != nil {
		return err
	}
	if w != 800 || h != 600 {
		return fmt.Errorf("the screenshot has %d x %d pixels instead of 800 x 600", w, h)
	}
	return nil
}

// rasters checks the pages of the drawing.
func (p *place) rasters(name string) error {
	for i := range document.Sheets {
		file, err := p.read(fmt.Sprintf("%s-%d.ppm", name, i+1))
		if err != nil {
			return err
		}
		w, h, err := document.Raster(file)
		if err != nil {
			return fmt.Errorf("page %d: %w", i+1, err)
		}
		if w < 700 || h < 1000 { // 8.3 x 11.7 inches at 96 dpi, rounded as the version does
			return fmt.Errorf("page %d has %d x %d pixels", i+1, w, h)
		}
	}
	return nil
}

// tested has an archive tested by the archiver.
func (p *place) tested(ctx context.Context, name string) error {
	_, err := p.session.Run(ctx, p.paths["archiver"], "t", "-bd", name)
	return err
}

// saved checks that the text was saved whole.
func (p *place) saved(name string) error {
	file, err := p.read(name)
	if err == nil && !bytes.Equal(file, p.text) {
		err = fmt.Errorf("%d bytes were saved that differ from the %d of the text", len(file), len(p.text))
	}
	return err
}
