package vijson

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// reply is a SOAP reply: a fault, or a pointer to the response.
type reply struct {
	header http.Header
	fault  *soap.Fault
	value  reflect.Value
}

// pass makes a SOAP call in the session of the request.
func (c call) pass(name string, arguments any) (reply, error) {
	var body bytes.Buffer
	body.WriteString(`<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>`)
	e := xml.NewEncoder(&body)
	if err := e.EncodeElement(arguments, xml.StartElement{Name: xml.Name{Space: "urn:vim25", Local: name}}); err != nil {
		return reply{}, fmt.Errorf("write the call in XML: %w", err)
	}
	if err := e.Flush(); err != nil {
		return reply{}, fmt.Errorf("write the call in XML: %w", err)
	}
	body.WriteString(`</Body></Envelope>`)
	inner := c.r.Clone(c.r.Context())
	inner.Method, inner.URL.Path, inner.URL.RawQuery = http.MethodPost, "/sdk", ""
	inner.Body, inner.ContentLength = io.NopCloser(&body), int64(body.Len())
	inner.Header.Del("Cookie")
	inner.Header.Set("Content-Type", "text/xml")
	if key := c.r.Header.Get(sessionHeader); key != "" {
		inner.AddCookie(&http.Cookie{Name: soap.SessionCookieName, Value: key})
	}
	w := &recorder{header: http.Header{}}
	c.sdk.ServeHTTP(w, inner)
	made, err := read(w.body.Bytes())
	made.header = w.header
	return made, err
}

// read reads the body of a reply.
func read(text []byte) (made reply, err error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.TypeFunc = types.TypeFunc()
	for inBody := false; ; {
		token, err := d.Token()
		if err != nil {
			return made, fmt.Errorf("read the reply in XML: %w", err)
		}
		start, is := token.(xml.StartElement)
		switch {
		case !is:
		case !inBody:
			inBody = start.Name.Local == "Body"
		case start.Name.Local == "Fault":
			made.fault = new(soap.Fault)
			return made, d.DecodeElement(made.fault, &start)
		default:
			kind, known := response(strings.TrimSuffix(start.Name.Local, "Response"))
			if !known {
				return made, fmt.Errorf("the API has no %s", start.Name.Local)
			}
			made.value = reflect.New(kind)
			return made, d.DecodeElement(made.value.Interface(), &start)
		}
	}
}

// recorder stores a reply.
type recorder struct {
	header http.Header
	body   bytes.Buffer
}

// Header is the header of the reply.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader does nothing: the body contains faults.
func (*recorder) WriteHeader(int) {}

// Write appends to the body.
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
