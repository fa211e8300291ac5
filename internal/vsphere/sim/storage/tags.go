package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	vtags "github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/capability"
)

// tagging is the simulator's tagging service.
type tagging interface {
	http.Handler
	tagBook
	tagSearch
}

// tagBook is the interface by which the original simulator attaches tags.
type tagBook interface {
	AttachTag(types.ManagedObjectReference, string) types.BaseMethodFault
	DetachTag(types.ManagedObjectReference, string) types.BaseMethodFault
}

// tagSearch is its interface to find tags.
type tagSearch interface {
	AttachedObjects(string) ([]types.ManagedObjectReference, types.BaseMethodFault)
	AttachedTags(types.ManagedObjectReference) ([]string, types.BaseMethodFault)
	GetTagByCategoryAndName(string, string) (string, types.BaseMethodFault)
	GetTagCategoryAndName(string) (string, string, types.BaseMethodFault)
}

// watched reports calls that may change tags.
type watched struct {
	tagging
	news *news
}

// ServeHTTP passes a call on.
func (w *watched) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w.tagging.ServeHTTP(to, r)
	if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/tagging/") {
		w.news.tagged()
	}
}

// AttachTag attaches a tag.
func (w *watched) AttachTag(to types.ManagedObjectReference, tag string) types.BaseMethodFault {
	defer w.news.tagged()
	return w.tagging.AttachTag(to, tag)
}

// DetachTag detaches a tag.
func (w *watched) DetachTag(from types.ManagedObjectReference, tag string) types.BaseMethodFault {
	defer w.news.tagged()
	return w.tagging.DetachTag(from, tag)
}

// Tagging wraps the tagging service, attaches the tags of datastores, and returns the handler
// to serve. It is called once, before the simulator serves.
func (d *PolicyManager) Tagging(ctx context.Context, h http.Handler, at *url.URL) (http.Handler, error) {
	service, ok := h.(tagging)
	if !ok {
		return nil, fmt.Errorf("the tagging service is a %T, which cannot be watched", h)
	}
	d.tags = &tags{handler: h, at: at}
	if err := d.tags.attach(ctx, wanted(d)); err != nil {
		return nil, fmt.Errorf("attach tags to datastores: %w", err)
	}
	return &watched{service, d.news}, nil
}

// tags reads and attaches tags.
type tags struct {
	handler http.Handler
	at      *url.URL
}

// manager is a session with the tagging service, inside this process.
func (t *tags) manager(ctx context.Context) (*vtags.Manager, error) {
	c := rest.NewClient(&vim25.Client{Client: soap.NewClient(&url.URL{Scheme: "http", Host: "tagging"}, true)})
	c.Client.Client.Transport = inside{t.handler}
	user := t.at.User
	if user == nil {
		user = url.UserPassword("simulator", "simulator")
	}
	if err := c.Login(ctx, user); err != nil {
		return nil, err
	}
	return vtags.NewManager(c), nil
}

// of are the tags of objects by category, in the checker's form.
func (t *tags) of(refs []types.ManagedObjectReference) (made map[string]map[string][]string, err error) {
	if t == nil {
		return nil, nil
	}
	service := t.handler.(tagging)
	var tagged []mo.Reference
	for _, ref := range refs {
		if ids, _ := service.AttachedTags(ref); len(ids) > 0 {
			tagged = append(tagged, ref)
		}
	}
	if len(tagged) == 0 {
		return nil, nil
	}
	ctx := context.Background() // nothing blocks
	m, err := t.manager(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Logout(ctx)) }()
	categories, err := m.GetCategories(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i := range categories {
		names[categories[i].ID] = capability.Readable(categories[i].Name)
	}
	attached, err := m.GetAttachedTagsOnObjects(ctx, tagged)
	if err != nil {
		return nil, err
	}
	made = map[string]map[string][]string{}
	for _, a := range attached {
		by := map[string][]string{}
		for _, tag := range a.Tags {
			category, name := names[tag.CategoryID], capability.Readable(tag.Name)
			if !slices.Contains(by[category], name) {
				by[category] = append(by[category], name)
			}
		}
		for _, list := range by {
			slices.Sort(list)
		}
		made[a.ObjectID.Reference().Value] = by
	}
	return made, nil
}

// attach creates tags and attaches them to datastores.
func (t *tags) attach(ctx context.Context, wanted map[types.ManagedObjectReference]map[string][]string) (err error) {
	if len(wanted) == 0 {
		return nil
	}
	m, err := t.manager(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Logout(ctx)) }()
	categories, made := map[string]string{}, map[[2]string]string{}
	refs := slices.SortedFunc(maps.Keys(wanted), func(a, b types.ManagedObjectReference) int { return strings.Compare(a.Value, b.Value) })
	for _, ref := range refs {
		for _, category := range slices.Sorted(maps.Keys(wanted[ref])) {
			if categories[category] == "" {
				categories[category], err = m.CreateCategory(ctx, &vtags.Category{Name: category, Cardinality: "MULTIPLE", AssociableTypes: []string{"Datastore"}})
				if err != nil {
					return err
				}
			}
			for _, tag := range wanted[ref][category] {
				name := [2]string{category, tag}
				if made[name] == "" {
					if made[name], err = m.CreateTag(ctx, &vtags.Tag{Name: tag, CategoryID: categories[category]}); err != nil {
						return err
					}
				}
				if err := m.AttachTag(ctx, made[name], ref); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// inside is a transport to a handler of this process.
type inside struct{ handler http.Handler }

// RoundTrip calls the handler.
func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	w := &reply{header: http.Header{}, code: http.StatusOK}
	i.handler.ServeHTTP(w, r)
	return &http.Response{
		Status: http.StatusText(w.code), StatusCode: w.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// reply is the reply of a handler.
type reply struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header is the headers to send.
func (r *reply) Header() http.Header { return r.header }

// Write adds to the body.
func (r *reply) Write(b []byte) (int, error) { return r.body.Write(b) }

// WriteHeader sets the status.
func (r *reply) WriteHeader(code int) { r.code = code }
