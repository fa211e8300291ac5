package inventory

import (
	"bytes"
	"context"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/session"
)

// pagesAhead is the number of pages requested before earlier ones are decoded, which takes
// longer than sending.
const pagesAhead = 4

// page is a response with a part of the changes. Next is the following response, if it was
// requested already.
type page struct {
	set  *types.UpdateSet
	err  error
	next <-chan page
}

// pages reads the first changes, which are all objects, page by page.
func (f *follow) pages(ctx context.Context, take func(*types.UpdateSet)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	slots := make(chan struct{}, pagesAhead)
	for answer := f.fetch(ctx, slots, ""); ; {
		p := <-answer
		if p.err != nil {
			return p.err
		}
		if p.set == nil {
			return nil
		}
		take(p.set)
		if p.set.Truncated == nil || !*p.set.Truncated {
			return nil
		}
		if answer = p.next; answer == nil {
			answer = f.fetch(ctx, slots, p.set.Version)
		}
	}
}

// fetch requests the page after a version, and the next as soon as its version is known.
func (f *follow) fetch(ctx context.Context, slots chan struct{}, version string) <-chan page {
	out := make(chan page, 1)
	go func() {
		slots <- struct{}{}
		defer func() { <-slots }()
		var next <-chan page
		seeing := session.WithPeek(ctx, func(reply []byte) {
			if following, more := upcoming(reply); more {
				next = f.fetch(ctx, slots, following)
			}
		})
		answer, err := methods.WaitForUpdatesEx(seeing, f.client, f.request(version, secondsOfAWait))
		if err != nil {
			out <- page{err: err}
			return
		}
		out <- page{set: answer.Returnval, next: next}
	}()
	return out
}

// upcoming finds the version of a page in its text, if more pages follow. It misses forms of
// XML that no vCenter uses; the next page is then requested later.
func upcoming(reply []byte) (version string, more bool) {
	if !bytes.Contains(reply, []byte("<truncated>true</truncated>")) {
		return "", false
	}
	_, rest, found := bytes.Cut(reply, []byte("<returnval><version>"))
	text, _, ended := bytes.Cut(rest, []byte("</version>"))
	if !found || !ended || bytes.ContainsAny(text, "&<") {
		return "", false
	}
	return string(text), true
}
