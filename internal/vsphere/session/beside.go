package session

import (
	"context"
	"fmt"
	"net/url"
	"reflect"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Beside makes calls to another endpoint of the vCenter that accepts this session. They share
// its connections and time limit, and are repeated once if the session has expired.
func (s *Session) Beside(endpoint *soap.Client) soap.RoundTripper {
	endpoint.Transport = s.bare.Transport
	return beside{s, endpoint}
}

type beside struct {
	session *Session
	to      *soap.Client
}

// RoundTrip makes a call.
func (b beside) RoundTrip(ctx context.Context, request, response soap.HasFault) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.session.Limit, fmt.Errorf("vCenter %s did not answer within %v", b.session.at.Host, b.session.Limit))
	defer cancel()
	err := send(ctx, b.to, request, response)
	if fault.Is(err, &types.NotAuthenticated{}) {
		if _, err := methods.GetCurrentTime(ctx, b.session); err != nil { // logs in again
			return err
		}
		reflect.ValueOf(response).Elem().SetZero()
		err = send(ctx, b.to, request, response)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return explain(err)
}

// REST logs in to the REST interface of the vCenter. The caller logs out.
func (s *Session) REST(ctx context.Context) (*rest.Client, error) {
	password, err := s.at.Secret("password")
	if err != nil {
		return nil, err
	}
	c := rest.NewClient(s.client)
	if err := c.Login(ctx, url.UserPassword(s.at.User, password)); err != nil {
		return nil, fmt.Errorf("log in to the REST interface of vCenter %s as %s: %w", s.at.Host, s.at.User, explain(err))
	}
	return c, nil
}
