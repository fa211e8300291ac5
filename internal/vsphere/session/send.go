package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"plimsoll/internal/vsphere/envelope"
)

// send makes a call. Messages of a plain shape are written and read without govmomi's general writer and reader of
// XML, which cost more than the rest of a small call.
func (s *Session) send(ctx context.Context, request, response soap.HasFault) error {
	if ctx.Value(peek{}) != nil || ctx.Value(types.ID{}) != nil || s.bare.Cookie != nil {
		return s.bare.RoundTrip(ctx, request, response)
	}
	text, plain := envelope.Request(request)
	if !plain {
		return s.bare.RoundTrip(ctx, request, response)
	}
	call, err := http.NewRequest(http.MethodPost, s.bare.URL().String(), bytes.NewReader(text))
	if err != nil {
		return err
	}
	call.Header.Set("Content-Type", `text/xml; charset="utf-8"`)
	call.Header.Set("SOAPAction", "urn:"+vim25.Namespace+"/"+s.bare.Version)
	return s.bare.Do(ctx, call, func(answer *http.Response) error { return read(answer, response) })
}

// read reads the reply to a call.
func read(answer *http.Response, response soap.HasFault) error {
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusInternalServerError {
		return &url.Error{Op: http.MethodPost, URL: vim25.Path, Err: errors.New(answer.Status)}
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode == http.StatusOK && envelope.Reply(text, response) {
		return nil
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.TypeFunc = types.TypeFunc()
	if err := d.Decode(&soap.Envelope{Body: response}); err != nil {
		return err
	}
	if f := response.Fault(); f != nil {
		return soap.WrapSoapFault(f)
	}
	return nil
}
