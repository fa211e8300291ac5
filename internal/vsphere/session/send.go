package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"plimsoll/internal/vsphere/envelope"
)

// send makes a call to an endpoint. Common messages bypass govmomi's general XML encoder and
// decoder, which cost more than the rest of a small call.
func send(ctx context.Context, to *soap.Client, request, response soap.HasFault) error {
	var session string
	if to.Cookie != nil {
		cookie := to.Cookie()
		if cookie == nil || cookie.Value == "" {
			return to.RoundTrip(ctx, request, response)
		}
		session = cookie.Value
	}
	if ctx.Value(peek{}) != nil || ctx.Value(types.ID{}) != nil {
		return to.RoundTrip(ctx, request, response)
	}
	text, plain := envelope.Request(request, session)
	if !plain {
		return to.RoundTrip(ctx, request, response)
	}
	call, err := http.NewRequest(http.MethodPost, to.URL().String(), bytes.NewReader(text))
	if err != nil {
		return err
	}
	call.Header.Set("Content-Type", `text/xml; charset="utf-8"`)
	call.Header.Set("SOAPAction", to.Namespace+"/"+to.Version)
	return to.Do(ctx, call, func(answer *http.Response) error { return read(answer, to.Types, response) })
}

// read reads the reply to a call, with values of some types.
func read(answer *http.Response, kinds types.Func, response soap.HasFault) error {
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusInternalServerError {
		return &url.Error{Op: http.MethodPost, URL: answer.Request.URL.Path, Err: errors.New(answer.Status)}
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode == http.StatusOK && envelope.Reply(text, response) {
		return nil
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.TypeFunc = kinds
	if err := d.Decode(&soap.Envelope{Body: response}); err != nil {
		return err
	}
	if f := response.Fault(); f != nil {
		return soap.WrapSoapFault(f)
	}
	return nil
}
