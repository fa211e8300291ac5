package session

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/connection"
)

// Refused is an error that a repeated call does not cure: a refused login, or an untrusted
// certificate.
type Refused struct{ text string }

// Error is the refusal, with advice.
func (r *Refused) Error() string { return r.text }

// Permanent reports whether reconnecting is futile.
func Permanent(err error) bool {
	var refused *Refused
	return errors.As(err, &refused) || fault.Is(err, &types.NoPermission{}) || fault.Is(err, &types.InvalidLogin{})
}

// anonymous reports whether properties are missing in a reply because the session has expired:
// reads of properties do not fail then.
func anonymous(response soap.HasFault) bool {
	var objects []types.ObjectContent
	switch body := response.(type) {
	case *methods.RetrievePropertiesExBody:
		if body.Res != nil && body.Res.Returnval != nil {
			objects = body.Res.Returnval.Objects
		}
	case *methods.RetrievePropertiesBody:
		if body.Res != nil {
			objects = body.Res.Returnval
		}
	}
	if len(objects) == 0 || len(objects[0].MissingSet) == 0 {
		return false
	}
	_, is := objects[0].MissingSet[0].Fault.Fault.(*types.NotAuthenticated)
	return is
}

// explain adds advice to the error of an untrusted certificate, or of an unreachable vCenter.
func explain(err error) error {
	var refused *Refused
	if errors.As(err, &refused) {
		return refused
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) && len(untrusted.UnverifiedCertificates) > 0 {
		return &Refused{fmt.Sprintf("its certificate is not trusted: %v. Its SHA-256 thumbprint is %s: compare it with that on the vCenter, then add thumbprint=... or ca=FILE to the address",
			untrusted.Err, thumbprint(untrusted.UnverifiedCertificates[0]))}
	}
	return connection.Explain(err)
}
